"""manifest.json: the inputs of each file, and the shapes at which check.py runs it (README.md)."""
import json


def add(folder, name, entry):
    """Writes the entry of file `name` into the folder's manifest."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text()) if path.exists() else {}
    content[name] = entry
    path.write_text(dumped(content))


def dumped(content):
    """JSON with one line an input and a shape."""
    files = []
    for name, entry in sorted(content.items()):
        fields = [f'    {json.dumps(key)}: {_lines(value) if key in ("inputs", "shapes") else json.dumps(value)}'
                  for key, value in entry.items()]
        files.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(fields) + "\n  }")
    return "{\n" + ",\n".join(files) + "\n}\n"


def _lines(values):
    return "[\n" + ",\n".join(f"      {json.dumps(value)}" for value in values) + "\n    ]"
