"""Engineering correlations: fluids, heat, chemicals, photovoltaics, meteorology."""

from __future__ import annotations

import inspect

import numpy as np

from tests.programs_public.registry import Case, program


@program(
    "fluids",
    "friction.friction_factor: Darcy's factor by Reynolds number and roughness",
)
def friction() -> Case:
    from fluids import friction as fr

    return Case(
        lambda p: fr.Haaland(p[0], p[1]) + fr.Swamee_Jain_1976(p[0], p[1]) + fr.Clamond(p[0], p[1]),
        np.array([1e5, 1e-3]),
        step=1e-5,
    )


@program("fluids", "compressible: isentropic work and critical flow")
def compressible() -> Case:
    import fluids

    return Case(
        lambda p: fluids.isentropic_work_compression(T1=p[0], k=1.4, P1=1e5, P2=p[1], eta=0.8),
        np.array([300.0, 1e6]),
        step=1e-4,
    )


@program(
    "chemicals",
    "vapor_pressure: Wagner and Lee-Kesler by temperature",
)
def vapour_pressure() -> Case:
    from chemicals import vapor_pressure as vp

    return Case(
        lambda t: (
            vp.Wagner(t[0], 190.53, 4596420.0, -6.00435, 1.1885, -0.834082, -1.22833)
            + vp.Lee_Kesler(t[0], 617.1, 36e5, 0.299)
        ),
        np.array([150.0]),
        step=1e-4,
    )


@program("chemicals", "rachford_rice: the residual of a flash by vapour fraction")
def flash_residual() -> Case:
    from chemicals.rachford_rice import Rachford_Rice_flash_error

    zs, ks = [0.5, 0.3, 0.2], [1.685, 0.742, 0.532]
    return Case(lambda v: Rachford_Rice_flash_error(v[0], zs, ks), np.array([0.5]))


@program("ht", "conv_internal: Nusselt numbers by Reynolds and Prandtl")
def nusselt() -> Case:
    from ht import conv_internal as ci

    return Case(
        lambda p: (
            ci.turbulent_Gnielinski(Re=p[0], Pr=p[1], fd=0.0185)
            + ci.turbulent_Dittus_Boelter(Re=p[0], Pr=p[1])
        ),
        np.array([1e5, 1.2]),
        step=1e-5,
    )


@program(
    "thermo",
    "nrtl: activity coefficients by composition (pure Python)",
)
def activity_coefficients() -> Case:
    from thermo.nrtl import NRTL_gammas

    taus = [[0.0, 1.2], [0.8, 0.0]]
    alphas = [[0.0, 0.3], [0.3, 0.0]]
    return Case(
        lambda x: np.stack(NRTL_gammas([x[0], x[1]], taus, alphas)), np.array([0.252, 0.748])
    )


@program("pvlib", "pvsystem.i_from_v: a cell's current by its parameters (Lambert W)")
def solar_cell() -> Case:
    from pvlib import pvsystem

    return Case(
        lambda p: pvsystem.i_from_v(p[0], p[1], 1e-9, p[2], 300.0, 1.5, method="lambertw"),
        np.array([10.0, 7.0, 0.2]),
    )


@program("pvlib", "irradiance.haydavies: the diffuse light on a tilted plane")
def sky_diffuse() -> Case:
    from pvlib import irradiance

    return Case(
        lambda p: irradiance.haydavies(30.0, 180.0, p[0], 700.0, 1360.0, p[1], p[2]),
        np.array([120.0, 40.0, 170.0]),
    )


@program("pvlib", "temperature.faiman and iam.physical: losses of a module")
def module_losses() -> Case:
    from pvlib import iam, temperature

    return Case(
        lambda p: temperature.faiman(p[0], p[1], p[2]) * iam.physical(p[3]),
        np.array([800.0, 20.0, 2.0, 35.0]),
    )


@program("pvlib", "singlediode.bishop88: a cell at a diode voltage")
def bishop() -> Case:
    from pvlib.singlediode import bishop88

    return Case(
        lambda v: np.stack(bishop88(v, 7.0, 1e-9, 0.2, 300.0, 1.5)), np.array([5.0, 20.0, 30.0])
    )


@program("pvlib", "atmosphere.get_relative_airmass by the zenith")
def clear_sky() -> Case:
    from pvlib import atmosphere

    return Case(
        lambda z: atmosphere.get_relative_airmass(z),
        np.array([20.0, 50.0, 70.0]),
    )


@program("metpy", "dewpoint and saturation vapour pressure without units")
def vapour() -> Case:
    from metpy.calc import thermo

    pressure = inspect.unwrap(thermo._saturation_vapor_pressure_liquid)
    return Case(pressure, np.array([280.0, 290.0]), step=1e-4)


@program("gsw", "rho: the density of sea water (compiled; with a rule)")
def sea_water() -> Case:
    import gsw

    return Case(lambda s: gsw.rho(s, 10.0, 100.0), np.array([30.0, 35.0]))


@program("pint", "quantities: a speed by raw magnitudes")
def quantity() -> Case:
    import pint

    ureg = pint.UnitRegistry()
    return Case(
        lambda p: ((p * ureg.metre) ** 2 / (2.0 * ureg.second)).to("cm**2/s").magnitude,
        np.array([1.0, 2.5]),
    )


@program("skrf", "networks: s2z and s2t conversions of scattering parameters")
def scattering() -> Case:
    from skrf.network import s2z

    def impedance(p):
        s = np.array([[[p[0], p[1]], [p[1], p[2]]]]) + 0.1j
        return np.abs(s2z(s))

    return Case(impedance, np.array([0.2, 0.5, -0.3]))


@program(
    "colour",
    "XYZ to Lab, and CIEDE2000's difference from a reference",
)
def colour_difference() -> Case:
    import colour

    reference = np.array([40.0, 20.0, -10.0])
    return Case(
        lambda xyz: colour.delta_E(colour.XYZ_to_Lab(xyz), reference, method="CIE 2000"),
        np.array([0.2, 0.12, 0.3]),
    )


@program(
    "colour",
    "the sRGB transfer function, by linear light",
)
def transfer_curve() -> Case:
    from colour.models import eotf_inverse_sRGB

    return Case(lambda x: eotf_inverse_sRGB(x), np.array([0.001, 0.18, 0.7]))


@program("opensimplex", "coherent noise at a point (Numba)")
def simplex_noise() -> Case:
    import opensimplex

    opensimplex.seed(3)
    return Case(lambda p: opensimplex.noise2(p[0], p[1]), np.array([0.31, 0.77]))


@program("pymap3d", "geodetic to Earth-centred coordinates and back to east-north-up")
def geodetic() -> Case:
    import pymap3d

    return Case(
        lambda p: np.stack(pymap3d.geodetic2enu(p[0], p[1], p[2], 42.0, -82.0, 200.0)),
        np.array([42.1, -81.9, 300.0]),
        step=1e-5,
    )


@program("navpy", "direction-cosine matrices by Euler angles")
def direction_cosines() -> Case:
    import navpy

    return Case(lambda a: navpy.angle2dcm(a[0], a[1], a[2]), np.array([0.3, -0.4, 1.1]))


@program("pyerf", "the pure-Python error function")
def error_function() -> Case:
    import pyerf

    return Case(lambda x: pyerf.erf(x[0]) + pyerf.erfinv(x[1]), np.array([0.4, 0.3]))
