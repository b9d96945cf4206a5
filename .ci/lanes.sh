# How sections run, and what several of them use. `.ci/run` has the sections; it sets `python` and `scratch` before.

# The processes of a job are a group, of which the first is the leader: what ends early leaves none of them behind.
set -m
trap 'trap - EXIT; end_jobs; rm -rf "$scratch"' EXIT
end_jobs() {
  local leader
  for leader in $(jobs -p); do kill -- "-$leader" 2>/dev/null || true; done
  wait
}

# Runs a section; prints how long it took and what it said when it has ended, so that two of them never mix.
section() {
  local start=$SECONDS status=0
  "$1" >"$scratch/$1.log" 2>&1 &
  wait $! || status=$?
  printf '==== %s: %s after %d s\n%s\n' "$1" "$([ $status = 0 ] && echo passed || echo FAILED)" \
    $((SECONDS - start)) "$(cat "$scratch/$1.log")"
  return $status
}

# Runs sections one after the other, and ends where one fails: in no place where a shell looks at a status itself,
# since it does not stop at a failing line there.
lane() {
  local name
  for name in "$@"; do section "$name"; done
}

# An environment of its own with pip, active for the rest of the section.
environment() {
  "$scratch/uv/bin/uv" venv --quiet --seed --python "$python" "$scratch/$1"
  export PATH="$scratch/$1/bin:$PATH" VIRTUAL_ENV="$scratch/$1"
}

# Installs as pip would, in a tenth of its time; pip itself where it matters what pip does. Nothing is compiled before it
# is imported, which most of it never is.
install_packages() {
  "$scratch/uv/bin/uv" pip install --quiet "$@"
}

# The packages of the active environment, a line each: NAME=VERSION. pip says nothing while it is quiet.
installed_packages() {
  PIP_QUIET=0 pip list --format=freeze
}

# Lists those of some notebooks that need more than nbtf, one a line: as a whole, so that "Run all" ends without it.
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

# Lists those of some notebooks that need a module, as a whole or in a cell: notebooks_that_need torch NOTEBOOK…
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
