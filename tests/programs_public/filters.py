"""State estimation and control: Kalman filters, simulators with state, robot kinematics."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

Z = np.array([0.1, 0.5, 0.9, 1.6, 1.9])


@program("filterpy", "KalmanFilter: the log-likelihood of measurements by noise variances")
def kalman_likelihood() -> Case:
    from filterpy.kalman import KalmanFilter

    def likelihood(p):
        kf = KalmanFilter(2, 1)
        kf.F = np.array([[1.0, 1.0], [0.0, 1.0]])
        kf.H = np.array([[1.0, 0.0]])
        kf.Q = np.array([[0.25, 0.5], [0.5, 1.0]]) * p[0]
        kf.R = np.array([[1.0]]) * p[1]
        total = 0.0
        for z in Z:
            kf.predict()
            kf.update(np.array([z]))
            s = kf.S[0, 0]
            total = total - 0.5 * (np.log(2 * np.pi * s) + kf.y[0, 0] ** 2 / s)
        return total

    return Case(likelihood, np.array([0.3, 0.7]))


@program("filterpy", "KalmanFilter: the smoothed track by the measurements")
def kalman_smoother() -> Case:
    from filterpy.kalman import KalmanFilter

    def track(z):
        kf = KalmanFilter(2, 1)
        kf.F = np.array([[1.0, 1.0], [0.0, 1.0]])
        kf.H = np.array([[1.0, 0.0]])
        kf.Q = np.eye(2) * 0.1
        means, covariances, _, _ = kf.batch_filter([np.array([v]) for v in z])
        return kf.rts_smoother(means, covariances)[0][:, 0]

    return Case(track, Z)


@program("filterpy", "UnscentedKalmanFilter: a pendulum's state by measurements")
def unscented_filter() -> Case:
    from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

    def move(x, dt):
        return np.array([x[0] + dt * x[1], x[1] - dt * np.sin(x[0])])

    def track(z):
        points = MerweScaledSigmaPoints(2, 0.5, 2.0, 1.0)
        ukf = UnscentedKalmanFilter(2, 1, 0.1, lambda x: x[:1], move, points)
        ukf.Q, ukf.R = np.eye(2) * 0.01, np.eye(1) * 0.1
        for value in z:
            ukf.predict()
            ukf.update(np.array([value]))
        return ukf.x

    return Case(track, Z)


@program("filterpy", "ExtendedKalmanFilter: a range measurement")
def extended_filter() -> Case:
    from filterpy.kalman import ExtendedKalmanFilter

    def track(z):
        ekf = ExtendedKalmanFilter(2, 1)
        ekf.x = np.array([1.0, 0.5])
        ekf.F = np.array([[1.0, 0.1], [0.0, 1.0]])
        for value in z:
            ekf.predict_update(
                np.array([value]),
                lambda x: np.array([[x[0] / np.hypot(x[0], 2.0), 0.0]]),
                lambda x: np.array([np.hypot(x[0], 2.0)]),
            )
        return ekf.x

    return Case(track, Z + 1)


@program("filterpy", "gh: a fading memory and an alpha-beta filter")
def alpha_beta() -> Case:
    from filterpy.gh import GHFilter

    return Case(
        lambda p: GHFilter(0.0, 0.0, 0.5, p[0], p[1]).batch_filter(list(Z)),
        np.array([0.6, 0.2]),
    )


@program("pykalman", "KalmanFilter.loglikelihood by the measurements")
def pykalman_likelihood() -> Case:
    from pykalman import KalmanFilter

    kf = KalmanFilter(
        transition_matrices=[[1.0, 0.3], [0.0, 0.9]], observation_matrices=[[1.0, 0.0]]
    )
    return Case(lambda z: kf.loglikelihood(z), Z[:, None] * 1.0)


@program("pykalman", "standard: the smoothed means by the transition matrix")
def pykalman_smoother() -> Case:
    from pykalman import KalmanFilter

    def means(transition):
        kf = KalmanFilter(transition_matrices=transition, observation_matrices=np.eye(1, 2))
        return kf.smooth(Z[:, None])[0][:, 0]

    return Case(means, np.array([[1.0, 0.3], [0.0, 0.9]]))


@program("quantecon", "Kalman: one step of prior to filtered to forecast")
def quantecon_kalman() -> Case:
    import quantecon as qe

    def step(y):
        model = qe.LinearStateSpace(np.eye(2) * 0.9, np.eye(2) * 0.3, np.eye(2), np.eye(2) * 0.5)
        kalman = qe.Kalman(model, np.zeros(2), np.eye(2))
        kalman.update(y)
        return kalman.x_hat

    return Case(step, np.array([0.4, -0.3]))


@program("control", "a state-space model's frequency response by its matrices")
def frequency_response() -> Case:
    import control

    def gain(a):
        system = control.ss(a, np.array([[0.0], [1.0]]), np.array([[1.0, 0.0]]), 0.0)
        return np.abs(system(1j * np.array([0.3, 1.0, 2.0])))

    return Case(gain, np.array([[0.0, 1.0], [-2.0, -0.5]]))


@program("control", "a transfer function evaluated by its coefficients")
def transfer_function() -> Case:
    import control

    def gain(c):
        system = control.tf(c[:2], c[2:])
        return np.abs(system(1j * np.array([0.3, 1.0, 2.0])))

    return Case(gain, np.array([0.5, 1.0, 1.0, 0.4, 2.0]))


@program("ahrs", "quaternions to a rotation matrix, and back to angles")
def quaternion_matrix() -> Case:
    from ahrs.common.orientation import q2R, q_prod

    return Case(lambda q: q2R(q_prod(q, q)), np.array([0.8, 0.2, -0.3, 0.5]))


@program(
    "ahrs",
    "a Madgwick filter step from a gyroscope and an accelerometer",
)
def madgwick() -> Case:
    from ahrs.filters import Madgwick

    q = np.array([0.8, 0.2, -0.3, 0.5])
    q /= np.linalg.norm(q)
    acc = np.array([0.1, 0.3, 9.7])
    return Case(lambda g: Madgwick().updateIMU(q, gyr=g, acc=acc), np.array([0.1, -0.2, 0.3]))


@program("ikpy", "forward kinematics of a chain by joint angles (code generated by SymPy)")
def robot_arm() -> Case:
    from ikpy.chain import Chain
    from ikpy.link import OriginLink, URDFLink

    links = [
        URDFLink(f"joint{i}", [0.1 * i, 0.2, 0.3], [0.1, 0.2 * i, 0.0], [0, i % 2, 1 - i % 2])
        for i in range(1, 4)
    ]
    chain = Chain([OriginLink(), *links], active_links_mask=[False, True, True, True])
    return Case(
        lambda q: chain.forward_kinematics([0.0, q[0], q[1], q[2]])[:3, 3],
        np.array([0.3, -0.5, 0.8]),
    )


@program("kinpy", "transforms: a composed rotation and translation of a chain")
def kinpy_transform() -> Case:
    from kinpy.transform import Transform

    def end(p):
        step = Transform(p[:3], p[3:])
        return np.append((step * step).rot, (step * step).pos)

    return Case(end, np.array([0.1, 0.2, 0.3, 0.4, -0.2, 0.3, 0.5]))
