"""Signals and images: filters, transforms, features, alignment."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

rng = np.random.default_rng(0)
IMAGE = rng.random((6, 5))


@program("skimage", "restoration.denoise_tv_chambolle: total variation, pure NumPy")
def total_variation() -> Case:
    from skimage.restoration import denoise_tv_chambolle

    return Case(
        lambda im: denoise_tv_chambolle(im, 0.1, eps=1e-12, max_num_iter=8),
        IMAGE,
        step=1e-5,
        tolerance=1e-5,
    )


@program("skimage", "color.rgb2lab of an image")
def lab_image() -> Case:
    from skimage.color import rgb2lab

    return Case(lambda im: rgb2lab(im), rng.random((2, 2, 3)) * 0.8 + 0.1)


@program("skimage", "color.rgb2hsv, hsv2rgb")
def hsv_image() -> Case:
    from skimage.color import rgb2hsv

    return Case(lambda im: rgb2hsv(im), rng.random((2, 2, 3)) * 0.8 + 0.1)


@program("skimage", "exposure.adjust_gamma, adjust_sigmoid, adjust_log")
def exposure() -> Case:
    from skimage.exposure import adjust_gamma, adjust_log, adjust_sigmoid

    return Case(
        lambda im: adjust_gamma(im, 1.7) + adjust_sigmoid(im) * adjust_log(im), IMAGE, step=1e-4
    )


@program("skimage", "metrics: mean squared error, normalised root and peak signal-to-noise")
def image_metrics() -> Case:
    from skimage import metrics

    other = rng.random((6, 5))
    return Case(
        lambda im: (
            metrics.mean_squared_error(other, im)
            + metrics.normalized_root_mse(other, im)
            + metrics.peak_signal_noise_ratio(other, im, data_range=1.0)
        ),
        IMAGE,
    )


@program("skimage", "filters.gaussian of an image (compiled filter)")
def blurred_image() -> Case:
    from skimage.filters import gaussian

    return Case(lambda im: gaussian(im, sigma=1.0), IMAGE)


@program("skimage", "transform: a projective warp of points by its matrix")
def warped_points() -> Case:
    from skimage.transform import ProjectiveTransform

    points = rng.random((4, 2))
    return Case(
        lambda m: ProjectiveTransform(matrix=m)(points),
        np.array([[1.0, 0.2, 0.1], [-0.1, 0.9, 0.3], [0.02, 0.01, 1.0]]),
    )


@program("skimage", "restoration.wiener: deconvolution")
def wiener() -> Case:
    from skimage.restoration import wiener as deconvolve

    psf = np.ones((3, 3)) / 9
    return Case(lambda im: deconvolve(im, psf, 0.1, clip=False), rng.random((6, 6)))


@program("librosa", "power_to_db and mel scales")
def decibels() -> Case:
    import librosa

    return Case(
        lambda s: librosa.power_to_db(s, ref=1.0, top_db=None) + librosa.hz_to_mel(s * 1000),
        np.array([0.3, 2.0, 5.0]),
        step=1e-4,
    )


@program("librosa", "a mel spectrogram of a signal")
def mel_spectrogram() -> Case:
    import librosa

    t = np.arange(64.0)
    return Case(
        lambda y: np.log(
            1e-3 + librosa.feature.melspectrogram(y=y, sr=800, n_fft=16, hop_length=8, n_mels=4)
        ),
        np.sin(0.7 * t) + 0.1 * np.cos(t),
    )


@program("librosa", "feature.delta and spectral centroid")
def spectral_centroid() -> Case:
    import librosa

    return Case(lambda s: librosa.feature.spectral_centroid(S=s, sr=800), rng.random((9, 3)) + 0.1)


@program("pylops", "FirstDerivative and a second derivative applied to a signal")
def linear_operators() -> Case:
    import pylops

    first = pylops.FirstDerivative(8, dtype="float64")
    second = pylops.SecondDerivative(8, dtype="float64")
    return Case(lambda x: np.sum(first.matvec(x) ** 2 + second.rmatvec(x) ** 2), rng.normal(size=8))


@program("pylops", "Convolve1D and the adjoint applied to a signal", also=("scipy",))
def convolution_operator() -> Case:
    import pylops

    op = pylops.signalprocessing.Convolve1D(8, h=np.array([0.2, 0.5, 0.3]), offset=1)
    return Case(lambda x: op.rmatvec(op.matvec(x)), rng.normal(size=8))


@program("pylops", "a fast Fourier operator applied to a signal")
def fourier_operator() -> Case:
    import pylops

    op = pylops.signalprocessing.FFT(8, real=True)
    return Case(lambda x: np.abs(op.matvec(x)), rng.normal(size=8))


@program("dtw", "dtw-python: the cost of an alignment")
def alignment_cost() -> Case:
    import dtw

    return Case(lambda s: dtw.dtw(s, np.cos(np.arange(6.0))).distance, np.sin(np.arange(5.0)))


@program("fastdtw", "dynamic time warping in pure Python")
def fast_alignment() -> Case:
    from fastdtw.fastdtw import dtw

    return Case(
        lambda s: dtw(s, np.cos(np.arange(6.0)), dist=lambda a, b: abs(a - b))[0],
        np.sin(np.arange(5.0)) + 0.02,
    )


@program("pywt", "a discrete wavelet transform (compiled; with a rule)")
def wavelet() -> Case:
    import pywt

    return Case(lambda x: np.concatenate(pywt.dwt(x, "db2")), rng.normal(size=8))
