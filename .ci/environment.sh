# The environment of `.ci/run` and `.ci/nightly`: system packages, and a virtual environment with nbtf and its tests.

# ---- system packages: installs only missing ones
system_packages() {
  local packages=() sudo=()
  command -v git >/dev/null || packages+=(git) # pre-commit lists the files with git
  "$python" -c "import ensurepip, venv" 2>/dev/null || packages+=(python3-venv)
  [ -n "$(command -v chromium chromium-browser google-chrome google-chrome-stable || true)" ] || packages+=(chromium)
  [ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || packages+=(fonts-dejavu-core) # tests compare pictures
  for shell in zsh fish; do # tests complete commands in them
    command -v "$shell" >/dev/null || packages+=("$shell")
  done
  if ((${#packages[@]})); then
    ((EUID == 0)) || sudo=(sudo)
    "${sudo[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -qq --no-install-recommends "${packages[@]}"
  fi
}

# ---- the virtual environment for checks and tests
install() {
  "$python" -m venv "$scratch/uv"
  "$scratch/uv/bin/pip" install "uv>=0.9,<1"
  environment venv
  install_packages -e ".[lab,test,dev]"
  # jsonschema imports it if it is there, and each program that reads a notebook then builds 38 grammars, for a second.
  "$scratch/uv/bin/uv" pip uninstall --quiet rfc3987-syntax
}
