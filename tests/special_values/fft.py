"""The bins of half a spectrum that stand for themselves, and transforms of one number."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Special

BINS = np.array([1.0 + 2.0j, -0.5 + 1.0j, 3.0 - 4.0j])

SPECIAL: list[Special] = [
    Special(  # 4 y[1] = Re z0 - 2 Im z1 - Re z2: the imaginary parts of the ends do not enter
        "np.fft.irfft even",
        lambda z: np.fft.irfft(z)[1],
        (BINS,),
        (np.array([0.25, -0.5j, -0.25]),),
    ),
    Special(  # 5 y[0] = Re z0 + 2 Re z1 + 2 Re z2: no bin at the Nyquist frequency
        "np.fft.irfft odd", lambda z: np.fft.irfft(z, 5)[0], (BINS,), (np.array([0.2, 0.4, 0.4]),)
    ),
    Special(  # 2 y[1] = Re z0 - Re z1, and z2 is cropped
        "np.fft.irfft of two",
        lambda z: np.fft.irfft(z, 2)[1],
        (BINS,),
        (np.array([0.5, -0.5, 0.0]),),
    ),
    Special(
        "np.fft.irfft of one", lambda z: np.fft.irfft(z, 1), (BINS,), (np.array([1.0, 0.0, 0.0]),)
    ),
    Special(  # hfft: conjugated and not scaled
        "np.fft.hfft even", lambda z: np.fft.hfft(z)[1], (BINS,), (np.array([1.0, 2.0j, -1.0]),)
    ),
    Special(
        "np.fft.rfft of one",
        lambda x: np.real(np.fft.rfft(x)),
        (np.array([3.0]),),
        (np.array([1.0]),),
    ),
    Special(  # the sum of the real parts of bins 0, 1, 2: 1 + cos(pi k / 2) + cos(pi k)
        "np.fft.rfft even",
        lambda x: np.sum(np.real(np.fft.rfft(x))),
        (np.array([1.0, -2.0, 0.5, 4.0]),),
        (np.array([3.0, 0.0, 1.0, 0.0]),),
    ),
    Special(
        "np.fft.fft of zeros: power has no slope",
        lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2),
        (np.zeros(3),),
        (np.zeros(3),),
    ),
]
