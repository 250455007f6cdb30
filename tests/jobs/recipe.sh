# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# What the container recipes do, as commands of bash. All functions take the path of Dockerfile or quadrille.def.

# The values of a build's arguments, and the environment of whoever runs the image.
recipe_environment() {
  case "$1" in
    *Dockerfile)
      sed -n 's/^ARG \(.*=.*\)/\1/p' "$1"
      sed -n '/^ENV /,/[^\\]$/p' "$1" | sed -e 's/^ENV /export /'
      ;;
    *) sed -n '/^%environment/,/^%/{//!p}' "$1" | filled "$1" ;;
  esac
}

# The steps that make the image of a copy of the tree.
recipe_build() {
  case "$1" in
    *Dockerfile) sed -n '/^RUN /,/[^\\]$/p' "$1" | sed -e 's/^RUN //' -e 's/^ *&& //' -e 's/ \\$//' ;;
    *) sed -n '/^%post/,/^%/{//!p}' "$1" | filled "$1" ;;
  esac
}

# The command of an image that is started without one.
recipe_default() {
  case "$1" in
    *Dockerfile) sed -n 's/^CMD \[\(.*\)\]$/\1/p' "$1" | sed 's/, / /g' ;;
    *) sed -n '/^%runscript/,$ {//!p}' "$1" ;;
  esac
}

# Apptainer's arguments in place of their names.
filled() {
  sed -f <(sed -n '/^%arguments/,/^%/s/^ *\([A-Z_]*\)=\(.*\)/s#{{ \1 }}#\2#g/p' "$1")
}
