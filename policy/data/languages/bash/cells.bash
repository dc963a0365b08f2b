builtin source ./kernel.sh; while { __sg_end=$? __sg_flags=$-; builtin set +efnuvxC; } 2>/dev/null && __sg_next; do __sg_was "$__sg_end"; builtin eval "$__sg_restore$__sg_code"; done; if [[ -n $__sg_last ]]; then __sg_was 0; builtin eval "$__sg_restore$__sg_code"; fi
# What the kernel's shell executes: one line, since the numbers of a cell's lines
# begin with that of its eval. Standard error is put aside, because set -x writes
# there. When a break leaves the loop, the shell ends and a fresh one goes on.
