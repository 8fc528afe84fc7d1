"""Geometry: rotations, transformations, curves, meshes, least-squares lines."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program, weights

ANGLES = np.array([0.3, -0.4, 1.1])


@program("transforms3d", "Euler angles to a matrix, to a quaternion and back to a matrix")
def euler_angles() -> Case:
    from transforms3d import euler, quaternions

    return Case(
        lambda a: quaternions.quat2mat(euler.euler2quat(a[0], a[1], a[2])) @ euler.euler2mat(*a),
        ANGLES,
    )


@program("transforms3d", "affines: compose a matrix of translation, rotation, zoom, shear")
def affine() -> Case:
    from transforms3d import affines, axangles

    return Case(
        lambda p: affines.compose(p[:3], axangles.axangle2mat(p[3:6], p[6]), p[7:10], p[10:]),
        np.array([0.3, -0.4, 1.1, 0.2, 0.5, 0.9, 0.7, 1.0, 1.2, 1.4, 0.1, 0.2, 0.3]),
    )


@program("trimesh", "transformations: a rotation about a point, applied to points")
def rotation_about_point() -> Case:
    from trimesh import transformations as tf

    points = np.random.default_rng(0).normal(size=(4, 3))
    return Case(
        lambda p: tf.transform_points(points, tf.rotation_matrix(p[0], p[1:4], p[4:])),
        np.array([0.7, 0.2, 0.5, 0.9, 0.1, -0.3, 0.4]),
    )


@program("trimesh", "transformations: Euler angles to a matrix")
def euler_matrix() -> Case:
    from trimesh import transformations as tf

    return Case(lambda a: tf.euler_matrix(a[0], a[1], a[2], "sxyz"), ANGLES)


@program("trimesh", "triangles: areas and normals of a mesh by its vertices")
def mesh_areas() -> Case:
    from trimesh import triangles

    faces = np.array([[0, 1, 2], [0, 2, 3], [1, 2, 3]])
    return Case(
        lambda v: triangles.area(v[faces]) + triangles.normals(v[faces])[0][:, 0],
        np.random.default_rng(0).normal(size=(4, 3)),
    )


@program(
    "pyquaternion",
    "a rotated vector, by the quaternion's elements",
)
def quaternion_rotation() -> Case:
    from pyquaternion import Quaternion

    return Case(
        lambda q: Quaternion(q).rotate(np.array([1.0, 2.0, 3.0])), np.array([0.8, 0.2, -0.3, 0.5])
    )


@program(
    "spatialmath",
    "base: roll-pitch-yaw, skew and the exponential of a twist",
)
def twist_exponential() -> Case:
    from spatialmath import base

    return Case(lambda a: base.rpy2r(a[0], a[1], a[2]) @ base.rotx(a[0]), ANGLES)


@program("spatialmath", "base.trexp: a rigid motion by its twist")
def rigid_motion() -> Case:
    from spatialmath import base

    return Case(lambda s: base.trexp(s), np.array([0.1, 0.4, -0.2, 0.3, -0.4, 1.1]))


@program("pytransform3d", "rotations: axis-angle to matrix to quaternion")
def axis_angle() -> Case:
    from pytransform3d import rotations as pr

    return Case(
        lambda a: pr.matrix_from_axis_angle(a) @ pr.active_matrix_from_angle(0, a[3]),
        np.array([0.2, 0.5, 0.9, 0.7]) / np.array([1.05, 1.05, 1.05, 1.0]),
    )


@program(
    "pytransform3d",
    "exponential coordinates of a transform",
)
def exponential_coordinates() -> Case:
    from pytransform3d.transformations import transform_from_exponential_coordinates as exp

    return Case(lambda s: exp(s, check=False), np.array([0.1, 0.4, -0.2, 0.3, -0.4, 1.1]))


@program(
    "skspatial",
    "the distance of a point from a line, by the point",
)
def line_distance() -> Case:
    from skspatial.objects import Line

    line = Line([0.0, 0.0, 1.0], [1.0, 2.0, 0.5])
    return Case(lambda p: line.distance_point(p), np.array([0.3, 0.8, -0.2]))


@program("geomdl", "a B-spline curve by its control points (pure Python)")
def spline_curve() -> Case:
    from geomdl import BSpline, utilities

    def point(p):
        curve = BSpline.Curve()
        curve.degree = 2
        curve.ctrlpts = [[p[i, 0], p[i, 1]] for i in range(4)]
        curve.knotvector = utilities.generate_knot_vector(2, 4)
        return np.stack(curve.evaluate_single(0.3))

    return Case(point, np.array([[0.0, 0.1], [1.0, 2.0], [2.0, 0.5], [3.0, 1.5]]))


@program(
    "splines",
    "a Catmull-Rom spline by its vertices",
)
def catmull_rom() -> Case:
    import splines

    def point(p):
        return splines.CatmullRom([p[0], p[1], p[2], p[3]], endconditions="natural").evaluate(1.4)

    return Case(point, np.array([[0.0, 0.1], [1.0, 2.0], [2.0, 0.5], [3.0, 1.5]]))


@program("bezier", "a Bezier curve's points by its nodes")
def bezier_curve() -> Case:
    from bezier.hazmat import curve_helpers

    return Case(
        lambda nodes: curve_helpers.evaluate_multi(nodes, np.array([0.2, 0.7])),
        np.array([[0.0, 1.0, 2.0], [0.3, 2.0, 0.5]]),
    )


@program("stl", "areas of a triangle mesh by its vectors (structured arrays, float32)")
def stl_areas() -> Case:
    from stl import mesh

    def areas(vectors):
        data = np.zeros(2, dtype=mesh.Mesh.dtype)
        data["vectors"] = vectors
        return mesh.Mesh(data).areas[:, 0]

    def exact(vectors):
        """Half the normal crossed with the opposite side; differences would be of float32."""
        v0, v1, v2 = np.moveaxis(vectors, 1, 0)
        normal = np.cross(v1 - v0, v2 - v0)
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        sides = np.stack([v2 - v1, v0 - v2, v1 - v0], axis=1)
        return 0.5 * np.cross(normal[:, None], sides) * weights(np.ones(2))[:, None, None]

    return Case(areas, np.random.default_rng(0).normal(size=(2, 3, 3)), exact, tolerance=1e-5)
