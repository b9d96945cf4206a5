# What `.ci/run` and `.ci/nightly` run in: system packages, and an environment with nbtf and what its tests need.

# ---- system packages, only those that are missing
system_packages() {
  local packages=() sudo=()
  command -v git >/dev/null || packages+=(git) # pre-commit lists the files through it
  "$python" -c "import ensurepip, venv" 2>/dev/null || packages+=(python3-venv)
  [ -n "$(command -v chromium chromium-browser google-chrome google-chrome-stable || true)" ] || packages+=(chromium)
  [ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || packages+=(fonts-dejavu-core) # pictures are compared
  if ((${#packages[@]})); then
    ((EUID == 0)) || sudo=(sudo)
    "${sudo[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -qq --no-install-recommends "${packages[@]}"
  fi
}

# ---- the environment of the checks and the tests
install() {
  "$python" -m venv "$scratch/uv"
  "$scratch/uv/bin/pip" install "uv>=0.9,<1"
  environment venv
  install_packages -e ".[lab,test,dev]"
}
