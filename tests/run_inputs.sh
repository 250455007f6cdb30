# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Runs the shipped inputs that are for the devices here. To be sourced, by tests/run.sh and by the
# bundle's gpu_tests.sh, which define
#
#   start RANKS ARGUMENTS...     the program on so many ranks; without a launcher on 0

hash_of() { sha256sum <"$1" | cut -d' ' -f1; }

# run_inputs PROGRAM FOLDER: a line with input, ranks, result and seconds for each. FOLDER keeps logs,
# results and what has passed: that is not run again with the same program, input, device and ranks.
# Fails where an input fails, or none is for the devices here.
run_inputs() {
  local program=$1 folder=$2 status=0 ranks device input name key code begin seconds
  local program_hash listed=0 total=0
  mkdir -p "$folder"
  touch "$folder/passed"
  program_hash=$(hash_of "$program")
  start 0 list inputs --here >"$folder/here" || return 1
  # On another descriptor than 0, which a launcher reads.
  while IFS=$'\t' read -r ranks device input <&3; do
    listed=$((listed + 1))
    name=$(basename "$input" .toml)
    key="$program_hash $(hash_of "$input") $ranks $device"
    seconds=$(grep -F "$key " "$folder/passed" || true)
    if [ -n "$seconds" ]; then
      printf '%-24s %2s x %-10s %-14s %5s s\n' "$name" "$ranks" "$device" "passed before" "${seconds##* }"
      continue
    fi
    begin=$SECONDS code=0
    start "$ranks" run "$input" --set run.output="$folder/results" </dev/null >"$folder/$name.np$ranks.log" 2>&1 || code=$?
    seconds=$((SECONDS - begin)) total=$((total + seconds))
    if [ $code = 0 ] && grep -q '^RESULT PASS' "$folder/$name.np$ranks.log"; then
      echo "$key $seconds" >>"$folder/passed"
      printf '%-24s %2s x %-10s %-14s %5s s\n' "$name" "$ranks" "$device" passed "$seconds"
    else
      status=1
      printf '%-24s %2s x %-10s %-14s %5s s\n' "$name" "$ranks" "$device" "FAILED ($code)" "$seconds"
      grep -E '^(RESULT|quadrille: |FATAL)' "$folder/$name.np$ranks.log" | tail -n 3 | sed 's/^/    /'
    fi
  done 3<"$folder/here"
  [ $listed -gt 0 ] || { echo "no input is for the devices here" && status=1; }
  echo "$total s; logs in $folder"
  return $status
}
