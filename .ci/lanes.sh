# Functions that run sections, or that several sections use. `.ci/run` has the sections; it sets `python` and `scratch`.

# Each job is a process group whose leader is its first process, so that all processes of a job can be ended together.
set -m
trap 'trap - EXIT; end_jobs; rm -rf "$scratch"' EXIT
end_jobs() {
  local leader
  for leader in $(jobs -p); do kill -- "-$leader" 2>/dev/null || true; done
  wait
}

# Runs a section. Prints its duration and output only at the end, so that the output of two sections never mixes.
section() {
  local start=$SECONDS status=0
  "$1" >"$scratch/$1.log" 2>&1 &
  wait $! || status=$?
  printf '==== %s: %s after %d s\n%s\n' "$1" "$([ $status = 0 ] && echo passed || echo FAILED)" \
    $((SECONDS - start)) "$(cat "$scratch/$1.log")"
  return $status
}

# Runs sections one after the other until one fails. Do not call this in a condition such as `if lane …`: the shell
# ignores `set -e` there, so a section would continue after a failing line.
lane() {
  local name
  for name in "$@"; do section "$name"; done
}

# Creates a separate environment with pip and activates it for the rest of the section.
environment() {
  "$scratch/uv/bin/uv" venv --quiet --seed --python "$python" "$scratch/$1"
  export PATH="$scratch/$1/bin:$PATH" VIRTUAL_ENV="$scratch/$1"
}

# Installs packages as pip would, in a tenth of the time. Sections use pip itself if its behaviour matters. Bytecode is
# compiled only on import, because most modules are never imported.
install_packages() {
  "$scratch/uv/bin/uv" pip install --quiet "$@"
}

# Lists the packages of the active environment, one NAME=VERSION per line. PIP_QUIET would hide the list.
installed_packages() {
  PIP_QUIET=0 pip list --format=freeze
}

# Lists the given notebooks that need more than nbtf as a whole, one per line. "Run all" stops in them without it.
notebooks_with_needs() {
  python - "$@" <<'END'
import json
import sys

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        if "needs" in json.load(file)["metadata"].get("nbtf", {}):
            print(path)
END
}

# Lists the given notebooks of which the whole or a cell needs a module: notebooks_that_need torch NOTEBOOK…
notebooks_that_need() {
  python - "$@" <<'END'
import json
import sys

module, *paths = sys.argv[1:]
for path in paths:
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    needs = [part["metadata"].get("nbtf", {}).get("needs", []) for part in (notebook, *notebook["cells"])]
    if any(module in names for names in needs):
        print(path)
END
}

# Checks the lessons of which the whole or a cell needs a module: check_notebooks_that_need torch
check_notebooks_that_need() {
  local notebooks
  mapfile -t notebooks < <(notebooks_that_need "$1" notebooks/*.ipynb)
  python -m nbtf notebooks check "${notebooks[@]}" --jobs 2
}
