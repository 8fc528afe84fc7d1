"""Programs of packages that nobody had looked at: each written once, and run once.

What the first run gave stands in docs/programs.md.
"""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

rng = np.random.default_rng(11)


@program("nfft", "the non-uniform Fourier transform of coefficients, by the coefficients")
def nonuniform_transform() -> Case:
    from nfft import nfft

    at = -0.5 + rng.random(12)
    return Case(lambda c: np.abs(nfft(at, c)) ** 2, rng.normal(size=8))


@program("nfft", "the adjoint transform of samples, by the samples")
def nonuniform_adjoint() -> Case:
    from nfft import nfft_adjoint

    at = -0.5 + rng.random(12)
    return Case(lambda s: np.real(nfft_adjoint(at, s, 8)) ** 2, rng.normal(size=12))


@program("ambiance", "the standard atmosphere: density, pressure, viscosity by height")
def atmosphere() -> Case:
    from ambiance import Atmosphere

    def properties(h):
        air = Atmosphere(h)
        return np.stack([air.density, air.pressure * 1e-5, air.dynamic_viscosity * 1e5])

    return Case(properties, np.array([500.0, 3000.0, 15000.0]), step=1e-6)


@program("haversine", "a great-circle distance between two points")
def haversine_distance() -> Case:
    from haversine import haversine

    return Case(lambda p: haversine((p[0], p[1]), (p[2], p[3])), np.array([45.7, 4.8, 48.8, 2.3]))


@program(
    "pygeodesy",
    "Vincenty's distance on the ellipsoid by coordinates",
    refuses="coordinates are instances of a class derived from float",
)
def ellipsoidal_distance() -> Case:
    from pygeodesy.ellipsoidalVincenty import LatLon

    return Case(
        lambda p: LatLon(p[0], p[1]).distanceTo(LatLon(48.8, 2.3)) * 1e-3, np.array([45.7, 4.8])
    )


@program("pybaselines", "an asymmetric least squares baseline of a spectrum, by the spectrum")
def baseline() -> Case:
    from pybaselines.whittaker import asls

    t = np.linspace(0, 1, 20)
    y = 1.0 + t + np.exp(-(((t - 0.5) / 0.1) ** 2)) + 0.01 * rng.normal(size=20)
    return Case(lambda y: asls(y, lam=10.0, max_iter=8)[0], y, step=1e-5)


@program("skfem", "a finite element stiffness form, by the coefficient in each element")
def stiffness() -> Case:
    from skfem import Basis, BilinearForm, ElementTriP1, MeshTri
    from skfem.helpers import dot, grad

    basis = Basis(MeshTri().refined(1), ElementTriP1())
    u = rng.normal(size=basis.N)

    def energy(k):
        @BilinearForm
        def form(u, v, w):
            return k[:, None] * dot(grad(u), grad(v))

        local = form.elemental(basis) if hasattr(form, "elemental") else form.assemble(basis)
        return u @ (local @ u)

    return Case(energy, 1.0 + rng.random(basis.mesh.nelements))


@program("peakutils", "a Gaussian fit's model and a peak's centroid")
def peak_centroid() -> Case:
    from peakutils.peak import centroid, gaussian

    t = np.linspace(-1, 1, 15)
    return Case(
        lambda q: centroid(t, gaussian(t, q[0], q[1], q[2])) + gaussian(0.3, q[0], q[1], q[2]),
        np.array([2.0, 0.2, 0.4]),
    )


@program("pysolar", "the altitude of the sun by latitude and longitude")
def solar_altitude() -> Case:
    import datetime

    from pysolar.solar import get_altitude_fast

    when = datetime.datetime(2020, 6, 21, 15, 0, tzinfo=datetime.UTC)
    return Case(lambda p: get_altitude_fast(p[0], p[1], when), np.array([42.2, -71.4]))


@program("pydmd", "the eigenvalues of a dynamic mode decomposition, by the snapshots")
def mode_decomposition() -> Case:
    from pydmd import DMD

    def eigenvalues(snapshots):
        model = DMD(svd_rank=2)
        model.fit(snapshots)
        return np.sort(np.abs(model.eigs))

    return Case(eigenvalues, rng.normal(size=(4, 6)))
