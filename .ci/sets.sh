# Other sets of packages than the tests' own: PyTorch and JAX, Binder's, Colab's, and the oldest ones. `.ci/nightly` runs the
# lessons and the notebook tests with each; `.ci/run` tests PyTorch and JAX, and tries the oldest set briefly.

# Builds the wheel, once.
build_wheel() {
  [ -e "$scratch/wheel" ] || pip wheel --no-deps --wheel-dir "$scratch/wheel" .
}

# Builds the documentation in an environment of its own, with the given options of build.py.
documentation() {
  environment docs
  install_packages "$(echo "$scratch"/wheel/nbtf-*.whl)[docs]"
  python .github/docs/build.py "$scratch/documentation" "$@"
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
needed = {"numpy", "ipykernel", "ipython", "ipywidgets", "anywidget", "quickjs-ng", "nbclient", "nbformat"}
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

# Creates and activates an environment that adds PyTorch and JAX, which no extra installs, to the tests' packages.
frameworks_environment() {
  torch_environment frameworks torch==2.13.0 jax lightning
  export NBTF_TESTS_NEED="torch jax lightning" # without one of them, pytest fails instead of skipping tests
}

# Creates and activates an environment of the given name that adds packages to the tests' own: torch_environment NAME PACKAGE…
torch_environment() {
  local packages
  packages="$(python -c "import sysconfig; print(sysconfig.get_path('purelib'))")"
  environment "$1"
  echo "$packages" >"$(python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tests.pth"
  pip install --no-compile "${@:2}"
}

# ---- the real Keras on nbtf, with the given options of pytest, in an environment that adds Keras to the tests' packages
keras_tests() {
  local packages
  packages="$(python -c "import sysconfig; print(sysconfig.get_path('purelib'))")"
  environment keras
  echo "$packages" >"$(python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tests.pth"
  install_packages "keras>=3.15,<3.16" scipy pandas pillow
  export NBTF_TESTS_NEED=keras
  export PYTHONPATH="$PWD" # kernels run in another folder
  python -m pytest -q -p no:cacheprovider "$@" tests/frameworks/keras
}

# ---- TensorFlow, in an environment that adds it to the tests' packages
tensorflow_environment() {
  local packages
  packages="$(python -c "import sysconfig; print(sysconfig.get_path('purelib'))")"
  environment tensorflow
  echo "$packages" >"$(python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tests.pth"
  pip install --no-compile "tensorflow-cpu==2.21.*"
  export NBTF_TESTS_NEED=tensorflow-cpu TF_CPP_MIN_LOG_LEVEL=3
  export PYTHONPATH="$PWD" # kernels and other programs run in another folder
}

# Tests TensorFlow with the given options of pytest; the comparison with TensorFlow's own log needs a process that logs.
tensorflow_tests() {
  python -m pytest -q -p no:cacheprovider "$@" tests/frameworks/tensorflow --ignore=tests/frameworks/tensorflow/test_programs.py
  env -u TF_CPP_MIN_LOG_LEVEL python -m pytest -q -p no:cacheprovider "$@" tests/frameworks/tensorflow/test_programs.py
}

# ---- the nightly tests in the tests' own environment; some read the built documentation
long_set() {
  build_wheel
  (documentation) # in a subshell, because it activates another environment
  NBTF_DOCS="$scratch/documentation" python -m pytest -q -n auto -p no:cacheprovider -m nightly
}

# ---- the nightly tests that need PyTorch or JAX
frameworks_set() {
  frameworks_environment
  export PYTHONPATH="$PWD" # kernels run in another folder
  python -m pytest -q -n auto -p no:cacheprovider -m nightly tests/frameworks tests/course/test_exercises.py
}

# ---- the tests of PyTorch with the oldest release that nbtf supports; PyPI's build has CUDA, and needs 8 GB of disk
oldest_torch_set() {
  torch_environment oldest_torch torch==2.10.0 "setuptools<81" # PyTorch's samples of its ops need setuptools
  export NBTF_TESTS_NEED=torch PYTHONPATH="$PWD"
  python -m pytest -q -n 2 -p no:cacheprovider tests/frameworks --ignore=tests/frameworks/tensorflow --ignore=tests/frameworks/keras
}

# ---- all of PyTorch's samples of its ops, on simulated GPUs and on the CPU
operators_set() {
  frameworks_environment
  python -m tests.frameworks.operators
}

# ---- all tests with TensorFlow, including all programs that are compared with its own log
tensorflow_set() {
  tensorflow_environment
  tensorflow_tests -n auto -m "nightly or not nightly"
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
