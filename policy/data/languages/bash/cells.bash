builtin source ./kernel.sh; until { __sg_end=$? __sg_flags=$-; unset -f builtin; builtin trap - DEBUG ERR RETURN; builtin set +efknuvxC; } >&"$__sg_null" 2>&1; __sg_next; __sg_go=$?; if ((${#__sg_words[@]} > 0)); then builtin set -- "${__sg_words[@]}"; fi; ((__sg_go != 3)); do __sg_before=("$@"); __sg_was "$__sg_end"; builtin eval "$__sg_first$__sg_code"; done; if [[ -n $__sg_last ]]; then __sg_was 0; builtin eval "$__sg_first$__sg_code"; fi
# What the kernel's shell executes: one line, since the numbers of a cell's lines
# begin with that of its eval. Standard output and error are put aside, because set -x
# and a trap on DEBUG write there. Where bash skips all commands, as after set -n, each
# counts as a success: the loop ends then, and so does the shell. When a break leaves
# the loop, the shell ends and a fresh one goes on.
