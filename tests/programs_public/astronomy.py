"""Astronomy: models of spectra and orbits, coordinates, propagation of light."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

T = np.linspace(0.3, 4.0, 7)


def model_1d(name: str, x: np.ndarray) -> Case:
    from astropy.modeling import models

    model = getattr(models, name)()
    return Case(lambda p: model.evaluate(T, *p), x)


@program("astropy", "modeling: Gaussian1D by its parameters")
def gaussian_line() -> Case:
    return model_1d("Gaussian1D", np.array([1.2, 1.5, 0.7]))


@program("astropy", "modeling: Lorentz1D, called as a model with new parameters")
def lorentz_line() -> Case:
    return model_1d("Lorentz1D", np.array([1.2, 1.5, 0.7]))


@program("astropy", "modeling: Voigt1D, which remembers its last input")
def voigt_line() -> Case:
    return model_1d("Voigt1D", np.array([1.5, 1.2, 0.7, 0.4]))


@program("astropy", "modeling: Moffat1D")
def moffat_line() -> Case:
    return model_1d("Moffat1D", np.array([1.2, 1.5, 0.7, 1.9]))


@program("astropy", "modeling: BrokenPowerLaw1D, filled by masks")
def broken_power_law() -> Case:
    return model_1d("BrokenPowerLaw1D", np.array([1.2, 1.5, 0.7, 1.9]))


@program("astropy", "modeling: SmoothlyBrokenPowerLaw1D, filled by masks")
def smooth_power_law() -> Case:
    return model_1d("SmoothlyBrokenPowerLaw1D", np.array([1.2, 1.5, 0.7, 1.9, 0.3]))


@program("astropy", "modeling: Drude1D")
def drude_line() -> Case:
    return model_1d("Drude1D", np.array([1.2, 0.9, 1.7]))


@program("astropy", "modeling: KingProjectedAnalytic1D, filled by masks")
def king_profile() -> Case:
    return model_1d("KingProjectedAnalytic1D", np.array([1.2, 1.0, 2.1]))


@program(
    "astropy",
    "modeling: Sersic2D on a grid",
)
def sersic_galaxy() -> Case:
    from astropy.modeling import models

    y, x = np.mgrid[0:4, 0:4].astype(float)
    model = models.Sersic2D()
    return Case(
        lambda p: np.sum(model.evaluate(x, y, *p) ** 2),
        np.array([1.0, 2.0, 3.0, 1.6, 1.4, 0.2, 0.4]),
    )


@program("astropy", "modeling: Polynomial1D and Chebyshev1D by coefficients")
def polynomial_models() -> Case:
    from astropy.modeling import models

    poly, cheb = models.Polynomial1D(3), models.Chebyshev1D(3)
    t = np.linspace(-0.9, 0.8, 5)
    return Case(
        lambda c: poly.evaluate(t, *c) * cheb.evaluate(t, *c), np.array([0.2, 1.1, -0.4, 0.6])
    )


@program("astropy", "modeling: a rotated elliptical Gaussian2D")
def gaussian_2d() -> Case:
    from astropy.modeling import models

    y, x = np.mgrid[0:4, 0:4].astype(float)
    model = models.Gaussian2D()
    return Case(
        lambda p: model.evaluate(x, y, *p).sum(axis=0), np.array([1.0, 1.5, 1.7, 0.9, 1.6, 0.4])
    )


@program("astropy", "stats: biweight_location of a sample")
def biweight() -> Case:
    from astropy.stats import biweight_location

    return Case(lambda x: biweight_location(x, M=np.array(1.0)), np.array([0.5, 1.2, 0.9, 3.0]))


@program("astropy", "cosmology: the inverse expansion rate of FlatLambdaCDM")
def cosmology_rate() -> Case:
    from astropy.cosmology import FlatLambdaCDM

    cosmology = FlatLambdaCDM(70.0, 0.3, Tcmb0=0.0)
    return Case(lambda z: cosmology.inv_efunc(z), np.array([0.1, 0.5, 2.0]))


@program("radvel", "kepler.rv_drive: radial velocities by orbital elements")
def radial_velocity() -> Case:
    from radvel.kepler import rv_drive

    return Case(
        lambda o: rv_drive(T, o, use_c_kepler_solver=False), np.array([2.3, 0.4, 0.3, 0.7, 10.0])
    )


@program("radvel", "orbit.timeperi_to_timetrans")
def transit_time() -> Case:
    from radvel.orbit import timeperi_to_timetrans

    return Case(
        lambda o: timeperi_to_timetrans(o[0], o[1], o[2], o[3]), np.array([0.4, 2.3, 0.3, 0.7])
    )


@program("sgp4", "the pure-Python SGP4 propagator by time")
def satellite() -> Case:
    from sgp4 import earth_gravity, io

    lines = (
        "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
        "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
    )
    record = io.twoline2rv(*lines, earth_gravity.wgs72)
    from sgp4.propagation import sgp4

    return Case(lambda t: np.stack(sgp4(record, t[0])[0]), np.array([37.0]), step=1e-3)


@program("skyfield", "functions: spherical coordinates of a position")
def spherical() -> Case:
    from skyfield.functions import to_spherical

    return Case(lambda p: np.stack(to_spherical(p)), np.array([0.4, 1.2, 0.8]))


@program("boinor", "Keplerian elements from position and velocity (Numba)")
def elements() -> Case:
    from boinor.core.elements import rv2coe

    return Case(
        lambda s: np.stack(rv2coe(1.0, s[:3], s[3:])),
        np.array([1.0, 0.1, 0.05, 0.05, 0.95, 0.1]),
    )


@program("hcipy", "a Fraunhofer propagation: the focal intensity by the pupil's phase")
def fraunhofer() -> Case:
    import hcipy

    pupil = hcipy.make_pupil_grid(6)
    focal = hcipy.make_focal_grid(2, 2)
    propagator = hcipy.FraunhoferPropagator(pupil, focal)

    def intensity(phase):
        field = hcipy.Field(np.exp(1j * phase), pupil)
        return propagator(hcipy.Wavefront(field)).intensity

    return Case(intensity, np.linspace(-0.5, 0.7, 36))


@program(
    "prysm",
    "a propagated pupil: the focal intensity by wavefront coefficients",
)
def pupil_propagation() -> Case:
    from prysm.propagation import focus

    y, x = np.mgrid[-1:1:6j, -1:1:6j]

    def intensity(c):
        field = (x**2 + y**2 < 1.0) * np.exp(1j * (c[0] * x**2 + c[1] * y**2 + c[2] * x * y))
        return np.abs(focus(field, 2)[4:8, 4:8]) ** 2

    return Case(intensity, np.array([0.4, -0.3, 0.8]))
