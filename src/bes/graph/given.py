"""The graph that a command names: a data set, tables, a file of another program, or bare embeddings."""

from __future__ import annotations

import pickle
import warnings
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from bes.errors import InputError
from bes.graph.arrays import Array
from bes.graph.custom import from_csv, from_embeddings, from_networkx, from_pyg, from_scipy
from bes.graph.graph import Graph

_NETWORKX = (".graphml", ".gml", ".gexf")
_TABLES = (".csv", ".tsv", ".tab", ".txt", ".xlsx", ".xls")


def given_graph(
    dataset: str | None,
    nodes: Path | None,
    edges: Path | None,
    *,
    label: str | None = None,
    id: str | None = None,
    split_column: str | None = None,
    edge_label: str | None = None,
    embeddings: Path | None = None,
    labels: Path | None = None,
) -> tuple[str, Graph | None]:
    """The graph that the options of a command name.

    Returns:
        The name under which the run is configured, and the graph; None where it is to be loaded by that name.
    """
    columns = {"--label": label, "--id": id, "--split-column": split_column, "--edge-label": edge_label}
    if embeddings is not None:
        _refuse("--embeddings", {"a data set": dataset, "--nodes": nodes, **columns})
        z, y, links = (None if path is None else _array(path) for path in (embeddings, labels, edges))
        return str(embeddings), from_embeddings(z, y, links, name=embeddings.stem)
    if nodes is not None or (edges is not None and dataset is None):
        if nodes is None or edges is None or dataset is not None:
            if dataset is not None:
                raise InputError(f"--nodes and --edges are a graph of your own: leave out the data set '{dataset}'.")
            given, lacks = ("--edges", "--nodes") if nodes is None else ("--nodes", "--edges")
            raise InputError(f"A graph from tables needs two files, and only {given} was given: give {lacks} as well.")
        _refuse("--nodes", {"--labels": labels}, "--label names the column of the classes")
        graph = from_csv(nodes, edges, label=label, id=id, split=split_column, edge_label=edge_label)
        return str(nodes), graph
    if dataset is None:
        raise InputError(
            "No graph was given: name a data set or a file such as an .npz, or give --nodes and --edges, "
            "or --embeddings."
        )
    return dataset, _file(dataset, edges, columns, labels)


def _file(dataset: str, edges: Path | None, columns: dict[str, str | None], labels: Path | None) -> Graph | None:
    """The graph in the file `dataset`, by its ending; None for a data set and for an `.npz` of this project."""
    path = Path(dataset).expanduser()
    kind = path.suffix.lower()
    _refuse(f"'{dataset}'", {"--edges": edges}, "a data set has edges of its own")
    if kind in _TABLES:
        raise InputError(f"The table {dataset} was given as a data set: give it by --nodes, and its edges by --edges.")
    if kind == ".npy":
        raise InputError(f"The array {dataset} was given as a data set: give embeddings by --embeddings.")
    if kind in _NETWORKX:
        _refuse(f"'{dataset}'", {"--id": columns["--id"], "--labels": labels}, "a graph file has ids of its own")
        label, _, split, edge_label = columns.values()
        return from_networkx(_networkx(path), label=label, split=split, edge_label=edge_label, name=path.stem)
    named = next((option for option, value in columns.items() if value), None)
    if named:
        raise InputError(f"{named} names a column of CSV files: give --nodes and --edges with it.")
    if kind == ".npz" and _is_scipy(path):
        return from_scipy(_sparse(path), labels=None if labels is None else _array(labels), name=path.stem)
    _refuse(f"'{dataset}'", {"--labels": labels}, "--labels go with --embeddings or an adjacency matrix")
    return from_pyg(_pyg(path), name=path.stem) if kind in (".pt", ".pth") else None


def _refuse(chosen: str, others: dict[str, object], why: str = "") -> None:
    """Refuse options that say nothing beside the chosen one."""
    given = next((option for option, value in others.items() if value is not None), None)
    if given:
        because = f", as {why}" if why else ""
        raise InputError(f"{chosen} does not go together with {given}{because}: leave one of them out.")


def _array(path: Path) -> Array:
    def read() -> Any:
        with path.open("rb") as file:
            return np.load(file, allow_pickle=False)

    found = _read(path, "an array saved by np.save, of numbers or texts", read)
    if not isinstance(found, np.ndarray):
        raise InputError(f"The file {path} is an archive of several arrays: give an .npy file with one.")
    return found


def _is_scipy(path: Path) -> bool:
    """Whether `scipy.sparse.save_npz` wrote this, by the names of what it holds."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return {"format.npy", "shape.npy", "data.npy"} <= set(file.namelist())


def _sparse(path: Path) -> Any:
    return _read(path, "a matrix saved by scipy.sparse.save_npz", lambda: sp.load_npz(path))


def _networkx(path: Path) -> Any:
    try:
        networkx = import_module("networkx")
    except ImportError:
        raise InputError(f"The file {path} is read by NetworkX, which is not here: pip install networkx.") from None

    def read() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if path.suffix.lower() != ".gml":
                return getattr(networkx, f"read_{path.suffix.lower()[1:]}")(path)
            try:
                return networkx.read_gml(path)
            except networkx.NetworkXError:  # nodes without a label are called by their number
                return networkx.read_gml(path, label="id")

    return _read(path, f"a whole {path.suffix} file", read)


def _pyg(path: Path) -> Any:
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    def read() -> Any:
        with torch.serialization.safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]):
            return torch.load(path, map_location="cpu", weights_only=True)

    data = _read(path, "one PyG Data of plain tensors, saved by torch.save", read)
    if not isinstance(data, Data):
        raise InputError(f"The file {path} holds a {type(data).__name__}: save one PyG Data by torch.save.")
    return data


def _read(path: Path, what: str, read: Callable[[], Any]) -> Any:
    """What `read` gives; whatever goes wrong with the file is one sentence."""
    if not path.is_file():
        raise InputError(f"The file {path} does not exist: give the path of {what}.")
    try:
        return read()
    except pickle.UnpicklingError as error:
        raise InputError(
            f"The file {path} is damaged or asks for more than data, which is refused: give {what}."
        ) from error
    except Exception as error:  # each format fails in its own way
        raise InputError(f"The file {path} cannot be read: give {what}.") from error
