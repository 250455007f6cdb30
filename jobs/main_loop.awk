# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Of `cuobjdump -sass`: the main loop of each kernel whose name has `wanted` in it, with its instructions by
# class. That is, of the loops that a branch back closes, the innermost one with most multiply-adds, or with
# most instructions where there are none. Exit 1: there is no such kernel.

function is_multiply_add(opcode) { return opcode ~ /^(FFMA|DFMA|HFMA2|HMMA|IMMA|DMMA|HGMMA|IGMMA|WGMMA)/ }

# "LDG.128" of "LDG.E.128.CONSTANT": what it does, and how wide.
function class_of(opcode,   base) {
  base = opcode
  sub(/\..*/, "", base)
  if (base ~ /^(LD|ST|RED|ATOM)/ && match(opcode, /\.(U8|S8|U16|64|128)(\.|$)/)) {
    return base "." substr(opcode, RSTART + 1, RLENGTH - (substr(opcode, RSTART + RLENGTH - 1, 1) == "." ? 2 : 1))
  }
  return base
}

function show(   first, last, i, k, best_first, best_last, adds, best, best_length, count, classes, order, n) {
  if (name == "" || index(name, wanted) == 0) return
  found = 1
  best = -1
  for (i = 1; i <= length_of_code; ++i) {
    if (target[i] == "" || !(target[i] in at) || at[target[i]] > i) continue
    first = at[target[i]]
    # A branch to itself ends a kernel.
    if (first == i) continue
    adds = 0
    for (k = first; k <= i; ++k) adds += is_multiply_add(opcode[k])
    if (adds > best || (adds == best && adds > 0 && i - first < best_length) ||
        (adds == best && adds == 0 && i - first > best_length)) {
      best = adds
      best_first = first
      best_last = i
      best_length = i - first
    }
  }
  print name
  if (best < 0) {
    printf "  no loop: %d instructions\n\n", length_of_code
    best_first = 1
    best_last = length_of_code
  } else {
    printf "  main loop: %d of %d instructions\n\n", best_last - best_first + 1, length_of_code
  }
  n = 0
  for (i = best_first; i <= best_last; ++i) {
    if (!(class_of(opcode[i]) in count)) order[++n] = class_of(opcode[i])
    ++count[class_of(opcode[i])]
  }
  for (k = 1; k <= n; ++k) printf "  %6d  %s\n", count[order[k]], order[k]
  print ""
  for (i = best_first; i <= best_last; ++i) print "    " text[i]
  print ""
}

function start(new_name,   i) {
  show()
  name = new_name
  length_of_code = 0
  split("", at)
  split("", target)
}

$1 == "Function" { start($3) }
# "        /*0090*/              @!P0 BRA 0x1f0 ;     /* 0x... */"
name != "" && match($0, /^[ \t]*\/\*[0-9a-f]+\*\/[ \t]+[^ \t]/) {
  address = $1
  gsub(/[\/*]/, "", address)
  sub(/^0+/, "", address)
  line = $0
  sub(/^[ \t]*\/\*[0-9a-f]+\*\/[ \t]+/, "", line)
  sub(/[ \t]*;.*/, "", line)
  ++length_of_code
  at[address] = length_of_code
  text[length_of_code] = line
  words = split(line, word, /[ \t]+/)
  opcode[length_of_code] = word[1] ~ /^@/ ? word[2] : word[1]
  target[length_of_code] = ""
  if (opcode[length_of_code] ~ /^BRA/ && match(line, /0x[0-9a-f]+/)) {
    address = substr(line, RSTART + 2, RLENGTH - 2)
    sub(/^0+/, "", address)
    target[length_of_code] = address
  }
}

END {
  show()
  if (!found) {
    print "profile: no kernel has '" wanted "' in its name; the program may have been built without CUDA" > "/dev/stderr"
    exit 1
  }
}
