# What the commands of a page of the docs find around them. test/docs-commands.test.ts sources this before them.
# $RKAT is the built command, $PAGE_HOME the folder above the project.

set -euo pipefail
trap 'echo "^ status $? of ${BASH_SOURCE[0]#"$PAGE_HOME/"}:$LINENO: $BASH_COMMAND"' ERR
exec 2>&1

server=
address=

rkat() {
  case "$*" in
    serve* | "mcp --http"*) serve "$@" ;;
    chat*) echo "Hello" | node "$RKAT" "$@" ;;
    "sessions delete"*) echo y | at_a_terminal "$@" ;;
    "memory forget --query"*) echo all | at_a_terminal "$@" ;;
    *) node "$RKAT" "$@" ;;
  esac
}

at_a_terminal() {
  node --import "data:text/javascript,process.stdin.isTTY = true" "$RKAT" "$@"
}

# A server runs until the page starts the next one, or ends. Every server takes a free port.
serve() {
  stop_server
  node "$RKAT" "$@" --port 0 2> "$PAGE_HOME/serving" &
  server=$!
  until grep -q "^Serving" "$PAGE_HOME/serving"; do
    if ! kill -0 "$server" 2> /dev/null; then
      cat "$PAGE_HOME/serving"
      server=
      return 1
    fi
    sleep 0.05
  done
  cat "$PAGE_HOME/serving"
  address=$(sed -n 's|.*http://\([^/ ]*\).*|\1|p' "$PAGE_HOME/serving" | head -1)
}

stop_server() {
  [ -z "$server" ] || kill -9 "$server" || true
  server=
}
trap stop_server EXIT

# Runs a program of the page, with what it leaves open from docs-prelude.ts.
program() {
  sed "s|127.0.0.1:8080|$address|g" "$1" > example.ts
  NODE_OPTIONS=$EXAMPLE_OPTIONS node example.ts
}

# An answer with an error fails. A stream of events has no end: two seconds of it are enough.
curl() {
  set -- "${@//127.0.0.1:8080/$address}"
  set -- "${@//localhost:8080/$address}"
  case "$*" in
    */events*) command curl --fail-with-body -m 2 "$@" || [ $? = 28 ] ;;
    *) command curl --fail-with-body "$@" ;;
  esac
}

# The first id that a command lists.
id_of() {
  node "$RKAT" "$@" --json | grep -oE '"(id|session_id)": *"[^"]+"' | head -1 | cut -d'"' -f4
}

# Programs that are not ours, or that would load something. (npx is in $PAGE_HOME/bin.)
npm() { :; }
claude() { :; }
hf() { :; }
openssl() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
git() {
  case "$1" in
    clone) mkdir "$(basename "$2")" ;;
    diff) printf '%s\n' "-print(1)" "+print(2)" ;;
  esac
}
