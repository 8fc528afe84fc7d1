"""Programs chosen and written after the library had settled, to see how it does on strangers."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

rng = np.random.default_rng(11)


@program("utm", "geographic coordinates to a UTM zone, and back")
def utm_there_and_back() -> Case:
    import utm

    def there(p):
        east, north, zone, letter = utm.from_latlon(p[0], p[1])
        back = utm.to_latlon(east + 1000.0, north, zone, letter)
        return np.stack([east * 1e-5, north * 1e-6, *back])

    return Case(there, np.array([48.2, 11.6]))


@program("psychrolib", "moist air: all properties from temperature and humidity")
def moist_air() -> Case:
    import psychrolib

    psychrolib.SetUnitSystem(psychrolib.SI)

    def properties(p):
        made = psychrolib.CalcPsychrometricsFromRelHum(p[0], p[1], 101325.0)
        return np.stack([made[0], made[3] * 1e-3, made[4] * 1e-4, made[5]])

    return Case(properties, np.array([25.0, 0.6]))


@program("iapws", "IAPWS-97: region 1 of water, by temperature and pressure")
def water() -> Case:
    from iapws.iapws97 import _Region1

    def properties(p):
        made = _Region1(p[0], p[1])
        return np.stack([made["h"] * 1e-2, made["s"], made["cp"]])

    return Case(properties, np.array([320.0, 3.0]))


@program("pyXSteam", "saturation pressure and saturated vapour's enthalpy, by temperature")
def steam() -> Case:
    from pyXSteam.XSteam import XSteam

    table = XSteam(XSteam.UNIT_SYSTEM_MKS)
    return Case(
        lambda t: np.stack([table.psat_t(t[0]), table.hL_t(t[1]) * 1e-2]), np.array([120.0, 80.0])
    )


@program("python_speech_features", "mel-frequency cepstral coefficients of a signal")
def cepstra() -> Case:
    import python_speech_features as speech

    return Case(
        lambda s: speech.mfcc(s, 1000, 0.016, 0.008, nfft=16, nfilt=6, numcep=4)[:, 1:],
        rng.normal(size=24),
    )


@program("colorspacious", "sRGB to CAM02-UCS and a difference in it")
def appearance() -> Case:
    import colorspacious

    other = np.array([0.3, 0.2, 0.7])
    return Case(lambda c: colorspacious.deltaE(c, other), np.array([0.4, 0.5, 0.25]))


@program("properscoring", "the continuous ranked probability score, against its own gradient")
def ranked_score() -> Case:
    import properscoring

    x = np.array([0.1, -0.4])

    def exact(p):
        return np.sum(properscoring.crps_gaussian(x, p[0], p[1], grad=True)[1] * W[:, None], 0)[::1]

    W = np.cos(np.arange(2) + 0.3)
    return Case(lambda p: properscoring.crps_gaussian(x, p[0], p[1]), np.array([0.2, 0.8]))


@program("properscoring", "the score of an ensemble, by its members (Numba)")
def ensemble_score() -> Case:
    import properscoring

    return Case(
        lambda e: properscoring.crps_ensemble(np.array([0.1, -0.4]), e), rng.normal(size=(2, 4))
    )


@program("pystoi", "speech intelligibility: third-octave bands of a clean and a noisy signal")
def octave_bands() -> Case:
    from pystoi import utils

    bands = utils.thirdoct(10000, 32, 2, 1500)[0]

    def energy(s):
        spectrum = utils.stft(s, 32, 32)
        return np.sqrt(bands @ np.abs(spectrum.T) ** 2)

    return Case(energy, rng.normal(size=50))


@program("boule", "normal gravity of an ellipsoid by latitude and height")
def gravity() -> Case:
    import boule

    return Case(
        lambda p: boule.WGS84.normal_gravity((0.0, p[0], p[1])) * 1e-5, np.array([43.0, 1200.0])
    )


@program("nelson_siegel_svensson", "a yield curve and its forward rates by the parameters")
def yield_curve() -> Case:
    from nelson_siegel_svensson import NelsonSiegelSvenssonCurve

    t = np.array([0.5, 1.0, 2.0, 5.0, 10.0])

    def rates(p):
        curve = NelsonSiegelSvenssonCurve(p[0], p[1], p[2], p[3], p[4], p[5])
        return np.concatenate([curve(t), curve.forward(t)])

    return Case(rates, np.array([0.03, -0.02, 0.01, 0.005, 1.7, 4.0]))


@program("nelson_siegel_svensson", "the least-squares error of a fit, by its time constants")
def yield_fit() -> Case:
    from nelson_siegel_svensson.calibrate import errorfn_nss_ols

    t = np.array([0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0])
    y = 0.02 + 0.01 * np.log1p(t) + 0.001 * np.sin(3 * t)
    return Case(lambda tau: 1e4 * errorfn_nss_ols(tau, t, y), np.array([1.5, 4.0]))


@program(
    "ase",
    "Lennard-Jones: the energy of a cluster, against the calculator's own forces",
)
def cluster_energy() -> Case:
    from ase import Atoms
    from ase.calculators.lj import LennardJones

    x = np.array([[0.0, 0.1, 0.0], [1.1, 0.0, 0.2], [0.4, 1.0, 0.1], [0.6, 0.4, 0.9]])

    def energy(positions):
        atoms = Atoms("Ar4", positions=positions)
        atoms.calc = LennardJones(rc=5.0)
        return atoms.get_potential_energy()

    def forces(positions):
        atoms = Atoms("Ar4", positions=positions)
        atoms.calc = LennardJones(rc=5.0)
        return -atoms.get_forces()

    return Case(energy, x, forces)


@program("ase", "geometry: the distances and angles of a molecule")
def molecule() -> Case:
    from ase.geometry import get_angles, get_distances

    def shape(p):
        vectors, lengths = get_distances(p)
        return np.concatenate([lengths[0, 1:], get_angles(vectors[0, 1:2], vectors[0, 2:3])])

    return Case(shape, np.array([[0.0, 0.1, 0.0], [1.1, 0.0, 0.2], [0.4, 1.0, 0.1]]))


@program("ase", "units: an equation of state of solids (Birch-Murnaghan)")
def state() -> Case:
    from ase.eos import birchmurnaghan, vinet

    v = np.array([9.0, 10.0, 11.0])
    return Case(lambda p: birchmurnaghan(v, *p) + vinet(v, *p), np.array([-3.0, 0.5, 4.0, 10.3]))


@program("galpy", "potentials: Miyamoto-Nagai and a logarithmic halo, against their forces")
def galaxy() -> Case:
    from galpy.potential import LogarithmicHaloPotential, MiyamotoNagaiPotential

    parts = [MiyamotoNagaiPotential(a=0.5, b=0.1), LogarithmicHaloPotential(q=0.9)]

    def exact(p):
        return np.array(
            [-sum(f.Rforce(p[0], p[1]) for f in parts), -sum(f.zforce(p[0], p[1]) for f in parts)]
        )

    return Case(lambda p: sum(f(p[0], p[1]) for f in parts), np.array([1.1, 0.3]), exact)


@program("galpy", "coords: Galactic coordinates to velocities in space")
def stars() -> Case:
    from galpy.util import coords

    def velocity(p):
        xyz = coords.lbd_to_XYZ(p[0], p[1], p[2])
        v = coords.vrpmllpmbb_to_vxvyvz(p[3], p[4], p[5], 0.7, 0.3, p[2])
        return np.concatenate([np.stack(xyz), 0.01 * np.stack(v)])

    return Case(velocity, np.array([0.7, 0.3, 1.5, 10.0, 2.0, -3.0]))


@program("lenstronomy", "a lens of power law: deflections, against its own Hessian (compiled)")
def lens() -> Case:
    from lenstronomy.LensModel.lens_model import LensModel

    model = LensModel(["SIE", "SHEAR"])
    kwargs = [
        {"theta_E": 1.2, "e1": 0.1, "e2": -0.05, "center_x": 0.0, "center_y": 0.0},
        {"gamma1": 0.03, "gamma2": -0.02},
    ]
    return Case(lambda p: np.stack(model.alpha(p[0], p[1], kwargs)), np.array([0.9, 0.7]))


@program("lenstronomy", "light of a Sersic ellipse by its parameters")
def light() -> Case:
    from lenstronomy.LightModel.light_model import LightModel

    x, y = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(-1, 1, 3))
    model = LightModel(["SERSIC_ELLIPSE"])

    def flux(p):
        names = ("amp", "R_sersic", "n_sersic", "e1", "e2", "center_x", "center_y")
        return model.surface_brightness(x.ravel(), y.ravel(), [dict(zip(names, p, strict=True))])

    return Case(flux, np.array([2.0, 0.7, 1.5, 0.1, -0.05, 0.03, 0.02]))


@program("lenstronomy", "a Navarro-Frenk-White halo's lensing potential by its scale")
def halo() -> Case:
    from lenstronomy.LensModel.Profiles.nfw import NFW

    return Case(
        lambda p: NFW().function(np.array([0.3, 1.5, 2.0]), np.array([0.2, 0.1, -1.0]), p[0], p[1]),
        np.array([1.1, 0.8]),
    )


@program("commpy", "a root-raised-cosine pulse, and symbols through a multipath channel")
def pulse() -> Case:
    from commpy.filters import rrcosfilter

    return Case(lambda p: rrcosfilter(9, p[0], 1.0, 4)[1], np.array([0.35]))


@program("nashpy", "payoffs of a game by its strategies")
def game() -> Case:
    import nashpy

    played = nashpy.Game(np.array([[3.0, 1.0], [0.0, 2.0]]), np.array([[2.0, 1.0], [0.0, 4.0]]))
    return Case(lambda p: played[p, np.array([0.3, 0.7])], np.array([0.6, 0.4]))


@program("geopy", "a great-circle distance between two points")
def great_circle() -> Case:
    from geopy.distance import great_circle as along

    return Case(lambda p: along((p[0], p[1]), (41.0, -81.0)).km * 1e-2, np.array([48.1, 11.5]))
