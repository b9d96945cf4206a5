# Other sets of packages than the tests' own: Binder's, Colab's, and the oldest ones. `.ci/nightly` runs the lessons and the
# notebook tests with each; `.ci/run` tries the oldest set briefly.

# Builds the wheel, once.
build_wheel() {
  [ -e "$scratch/wheel" ] || pip wheel --no-deps --wheel-dir "$scratch/wheel" .
}

# ---- notebook tests that do not depend on other packages: they use only a browser, or the static site
# The sets lack the extra `test` on purpose, hence CI="".
unaffected=(tests/notebook/views/test_page.py tests/notebook/views/test_plane.py tests/notebook/test_without_threads.py)

# Tells whether the interpreter is the oldest that nbtf supports: newer ones lack wheels of the oldest packages.
is_oldest_python() {
  python -c "import sys; sys.exit(sys.version_info[:2] != (3, 11))"
}

# Creates and activates an environment with the oldest packages that the lab extra allows.
oldest_environment() {
  local packages
  mapfile -t packages < <(
    python - <<'END'
import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
needed = {"numpy", "ipykernel", "ipython", "ipywidgets", "anywidget", "nbclient", "nbformat"}
for requirement in [*project["dependencies"], *project["optional-dependencies"]["lab"]]:
    name, _, bound = re.match(r"([\w-]+)(>=([\d.]+))?", requirement).groups()
    if name in needed:
        print(f"{name}=={bound}.*")
END
  )
  echo "oldest set: ${packages[*]}"
  environment oldest
  install_packages "${packages[@]}" "pytest>=8.3,<10" hypothesis matplotlib scikit-learn
}

# ---- the notebook tests and the lessons with the oldest Python and the oldest packages that the lab extra allows
oldest_set() {
  is_oldest_python || { echo "skipped: needs Python 3.11" && return; }
  oldest_environment
  # ipywidgets 8.0 uses traitlets in a way that is deprecated in newer versions.
  CI="" python -m pytest -q --override-ini="addopts=--import-mode=importlib" -p no:cacheprovider \
    -W "ignore:Deprecated in traitlets:DeprecationWarning" tests/notebook \
    "${unaffected[@]/#/--ignore=}"
  PYTHONPATH="$PWD" python -m nbtf notebooks check notebooks/*.ipynb
}

# ---- Colab's packages, none of which nbtf may replace, and a stub of the module that identifies Colab
colab_set() {
  local before
  build_wheel
  environment colab
  install_packages --requirement tests/colab/requirements.txt nbclient nbformat "pytest>=8.3,<10" hypothesis
  before="$(installed_packages)"
  pip install "$(echo "$scratch"/wheel/nbtf-*.whl)[views]"
  diff <(echo "$before") <(installed_packages | grep -v "^nbtf=") # nbtf has replaced no package
  CI="" python -m pytest -q --override-ini="addopts=--import-mode=importlib" -p no:cacheprovider \
    -W "ignore:Deprecated in traitlets:DeprecationWarning" tests/notebook \
    "${unaffected[@]/#/--ignore=}"
  PYTHONPATH="$PWD/tests/colab" nbtf notebooks check notebooks/*.ipynb
}

# ---- all tutorials run in Binder's environment
binder_set() {
  environment binder
  export JUPYTER_DATA_DIR="$scratch/binder-data"
  install_packages --requirement binder/requirements.txt
  binder/postBuild >/dev/null
  mapfile -t notebooks < <(comm -23 <(ls notebooks/*.ipynb) <(notebooks_with_needs notebooks/*.ipynb))
  jupyter execute "${notebooks[@]}" # notebooks that need PyTorch run in `frameworks`
}
