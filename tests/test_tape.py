"""A `Tape` as a table, in a notebook and as a graph; what an operation keeps is counted once."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

import npgrad

X = np.array([0.5, 1.0])


def recorded():
    with npgrad.Tape() as tape:
        x = tape.leaf(X)
        np.sum(np.exp(x) * x < 2) if np.sum(np.exp(x) * x) > 9 else np.sum(x)  # "a & b"
    return tape


def test_the_table_is_in_columns():
    lines = str(recorded()).splitlines()
    assert lines[0].split() == ["operation", "inputs", "value", "keeps", "where", "line"]
    begin = lines[0].index("value")
    assert all(line[begin:].startswith("float64[") for line in lines[1:-1])
    assert lines[-1] == "4 operations, keeping 48 B"
    assert "test_tape.py:17" in lines[2] and lines[2].endswith("...")  # cut, the line is long
    assert str(list(recorded())[1]).startswith("%1  np.exp  %0  float64[2]  16 B  test_tape.py:17")


def test_html_is_well_formed_and_escaped():
    text = recorded()._repr_html_()
    table = ET.fromstring(f"<div>{text}</div>").find("table")
    rows = [[cell.text or "" for cell in row] for row in table]
    assert rows[0][1:3] == ["operation", "inputs"] and len(rows) == 6
    assert rows[2][1] == "np.exp" and '"a & b"' in rows[2][-1]


def test_dot_has_a_node_for_each_entry_and_an_arrow_for_each_input():
    p = npgrad.primitive(lambda x: 2 * x).defvjp(lambda ans, x: lambda g: 2 * g)
    p._rule.name = 'odd "\\module".twice'
    with npgrad.Tape() as tape:
        x = tape.leaf(X)
        np.sum(p(x)) + np.sum(np.modf(x)[0])
    lines = tape.dot().splitlines()
    assert lines[0] == "digraph recording {" and lines[-1] == "}"
    assert sum("label=" in line for line in lines) == len(tape)
    assert sum("->" in line for line in lines) == sum(len(entry.inputs) for entry in tape)
    assert r'label="odd \"\\module\".twice\nfloat64[2]"' in tape.dot()
    assert r"np.modf\n2 arrays" in tape.dot()


def test_what_an_operation_keeps_is_counted_once():
    """A large plain operand is kept with a fingerprint of it."""
    data = np.ones((500, 20))
    f = lambda w: np.sum(data @ w)
    with npgrad.Tape() as tape, npgrad.profile() as seen:
        npgrad.grad(f)(np.ones((20, 10)))
    kept = {entry.operation: entry.kept_bytes for entry in tape}
    assert kept["np.matmul"] == data.nbytes
    assert {row.operation: row.kept_bytes for row in seen}["np.matmul"] == data.nbytes


def test_what_a_rule_records_is_at_the_users_line():
    with npgrad.Tape() as tape:
        npgrad.hessian(lambda x: np.sum(np.tanh(x)))(X)
    assert {entry.where.partition(":")[0] for entry in tape if entry.operation != "leaf"} == {
        "test_tape.py"
    }


def test_an_empty_tape_and_one_operation():
    assert str(npgrad.Tape()) == "(empty tape)"
    with npgrad.Tape() as tape:
        np.sin(tape.leaf(1.0))
    assert str(tape).endswith("\n1 operation, keeping 0 B")
