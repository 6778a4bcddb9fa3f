"""Eq. 6, 7, 9 and 10: gravity between nodes, and between a node and the centres."""

import math

import numpy as np


def pairwise(z_b, z_j):
    return -float(np.sum((z_b - z_j) ** 2))


def distance(a, b):
    return math.sqrt(float(np.sum((a - b) ** 2)))


def region_radius(z_region, mu_b):
    return min(distance(z_i, mu_b) for z_i in z_region)


def rival_radius(z_b, b, mu, present):
    return min(distance(z_b, mu[j]) for j in present if j != b)


def center_positive(z_b, mu_b, radius):
    return -(max(0.0, distance(z_b, mu_b) - radius) ** 2)


def center_negative(z_b, mu_j):
    return -float(np.sum((z_b - mu_j) ** 2))
