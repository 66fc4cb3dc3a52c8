# What the users of benchmark-32 type, as short commands: sourced at log-on, inherited by the shell that `logon` starts.
logon() { PS1='ready> ' bash --noprofile --norc --noediting -i; }
# Edits go to a temporary copy: the base file stays as it is.
edit() { cp "$1" "$1.new" && ed -s -p '* ' "$1.new"; }
comp() { "$SATLINE_PYTHON" -I -c 'import py_compile, sys; py_compile.compile(sys.argv[1], doraise=True); print("compiled", sys.argv[1])' "$1"; }
# The second language: C where there is a compiler, else awk, whose programs are compiled when they start.
asm() { if command -v cc >/dev/null; then cc -c -o "$1.o" "$1.c" && echo "assembled $1"; else awk -f "$1.awk" /dev/null && echo "assembled $1"; fi; }
calc() { "$SATLINE_PYTHON" -I -S calc.py; }
export -f logon edit comp asm calc
