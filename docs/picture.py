"""Draws docs/architecture.svg from what is proved: the layers in pyproject.toml, and the imports in the code.

Run it with ``make docs`` when a module or a layer comes or goes.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path

import grimp  # import-linter's own graph of imports

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs/architecture.svg"
APPS = ("config", "projects", "memorybank")
BOX, GAP, ROW, TEXT = 96, 8, 58, 24  # pixels: a box, the space beside it, a layer, the height of a box
#: A contract about layers in pyproject.toml: its package and its layers.
LAYERS = re.compile(r'^containers = \["(.+)"\]\n.*\nlayers = \[\n((?:    .+\n)+)\]', re.M)
#: A layer: the comment above it, and its modules.
LAYER = re.compile(r'^    # (.+)\n    "(.+)",$', re.M)

Layers = list[tuple[str, list[str]]]


def contracts() -> dict[str, Layers]:
    """Of memorybank and of each of its rooms, the layers from the top."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return {
        package: [(why, [f"{package}.{name}" for name in names.split(" | ")]) for why, names in LAYER.findall(listed)]
        for package, listed in LAYERS.findall(text)
    }


def layers() -> Layers:
    """From the top: what a layer is for, and the modules in it; in place of a room, its own layers."""
    inside = contracts()
    rows: Layers = [
        ("The site: settings, Celery, addresses.", ["config"]),
        ("Tenants, people and pages.", ["projects"]),
    ]
    for why, names in inside["memorybank"]:
        rows += inside.get(names[0], [(why, names)])
    return rows


def core() -> set[str]:
    """The packages that are proved to know no framework."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.partition('id = "core"')[2].partition("forbidden_modules")[0]
    return set(re.findall(r'"(memorybank\.\w+)"', listed))


def imports() -> dict[str, set[str]]:
    """Module → the modules it imports, with packages as one, and without what it also reaches through others."""
    graph = grimp.build_graph(*APPS, cache_dir=None)
    direct: dict[str, set[str]] = {}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            if _box(module) != _box(imported):
                direct.setdefault(_box(module), set()).add(_box(imported))
    for targets in direct.values():  # the face of a room is not drawn: what it passes on is
        targets |= {far for near in targets - _drawn() for far in direct.get(near, ())}
    return {
        module: targets - {far for near in targets for far in _below(near, direct)}
        for module, targets in direct.items()
    }


@cache
def _drawn() -> set[str]:
    return {name for _, names in layers() for name in names}


def _box(module: str) -> str:
    """The box of a module in the picture: an app, a part of memorybank, or a part of one of its rooms."""
    parts = module.split(".")
    above = (".".join(parts[:most]) for most in range(len(parts), 0, -1))
    return next((name for name in above if name in _drawn()), module)


def _below(module: str, direct: Mapping[str, set[str]]) -> set[str]:
    """All that a module reaches."""
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        new = direct.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


def draw() -> str:
    """The picture, as SVG."""
    rows = layers()
    width = max(len(names) for _, names in rows) * (BOX + GAP) + BOX
    places = {
        name: (GAP + at * (BOX + GAP), row * ROW + 20)
        for row, (_, names) in enumerate(rows)
        for at, name in enumerate(names)
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {len(rows) * ROW}" font-family="sans-serif">',
        "<style>.why { font-size: 10px; paint-order: stroke; stroke: #fff; stroke-width: 4px }</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        *_bands(rows, width),
        *_arrows(places),
        *_boxes(places),
        *(
            f'<text x="{GAP}" y="{row * ROW + 14}" font-size="10">{escape(why)}</text>'
            for row, (why, _) in enumerate(rows)
        ),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _bands(rows: Layers, width: int) -> Iterator[str]:
    """Behind the layers of each room, its name."""
    for room in contracts():
        inside = [row for row, (_, names) in enumerate(rows) if names[0].rpartition(".")[0] == room != "memorybank"]
        if inside:
            top, height = inside[0] * ROW + 2, len(inside) * ROW - 4
            yield f'<rect x="2" y="{top}" width="{width - 4}" height="{height}" rx="6" fill="#f6f4ec"/>'
            name = room.rpartition(".")[2]
            yield f'<text x="{width - GAP}" y="{top + 16}" text-anchor="end" font-size="13">{name}</text>'


def _arrows(places: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    for module, targets in sorted(imports().items()):
        for imported in sorted(targets & set(places) if module in places else ()):
            (x, y), (to_x, to_y) = places[module], places[imported]
            ends = f'x1="{x + BOX // 2}" y1="{y + TEXT}" x2="{to_x + BOX // 2}" y2="{to_y}"'
            yield f'<line {ends} stroke="#9ab" stroke-width="0.7"/>'


def _boxes(places: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    pure = core()
    for name, (x, y) in places.items():
        fill = "#d8f0d8" if any(name.startswith(f"{package}.") for package in pure) or name in pure else "#e8ecf4"
        yield f'<rect x="{x}" y="{y}" width="{BOX}" height="{TEXT}" rx="4" fill="{fill}" stroke="#678"/>'
        middle = f'x="{x + BOX // 2}" y="{y + 16}" text-anchor="middle" font-size="12"'
        yield f"<text {middle}>{name.rpartition('.')[2]}</text>"


if __name__ == "__main__":
    TARGET.write_text(draw(), encoding="utf-8")
