# What the commands of a page of the docs find around them. test/docs-commands.test.ts sources this before the
# page's commands, which are in $PAGE. $DOCS_RKAT is the built command, $DOCS_HOME the folder above the project.

set -Eeuo pipefail
exec 2>&1

# Names the line of the page that failed.
failed() {
  local status=$? i
  for i in "${!BASH_SOURCE[@]}"; do
    if [ "${BASH_SOURCE[i]}" = "$PAGE" ]; then
      echo "^ ${PAGE#"$DOCS_HOME/"}:${BASH_LINENO[i - 1]} ended with $status" >&2
    fi
  done
  exit "$status"
}
trap failed ERR

rkat() {
  case "$*" in
    serve* | "mcp --http"*) serve "$@" ;;
    "inspect"*--export*) command_line "$@" ;;
    inspect*) serve "$@" --no-open ;;
    chat*) echo "Hello" | command_line "$@" ;;
    "sessions delete"*) echo y | at_a_terminal "$@" ;;
    "memory forget --query"*) echo all | at_a_terminal "$@" ;;
    *) command_line "$@" ;;
  esac
}

# Has the test run a command line in a process that has run others, since loading takes longest.
command_line() {
  if [ -z "$DOCS_COMMANDS" ]; then
    node "$DOCS_RKAT" "$@"
    return
  fi
  local call status
  call=$(mktemp -d "$DOCS_HOME/call.XXXXXX")
  cat > "$call/stdin"
  printf '%s\0' "$PWD" "$@" > "$call/line"
  env -0 > "$call/env"
  status=$(command curl -s --data "$call" "$DOCS_COMMANDS")
  cat "$call/stderr" >&2
  cat "$call/stdout"
  return "$status"
}

at_a_terminal() {
  node --import "data:text/javascript,process.stdin.isTTY = true" "$DOCS_RKAT" "$@"
}

docs_server=
docs_address=

# Serves at a free port until stop_server.
serve() {
  local said=$DOCS_HOME/serving line
  stop_server
  rm -f "$said"
  mkfifo "$said"
  node "$DOCS_RKAT" "$@" --port 0 2> "$said" &
  docs_server=$!
  # It stays open: what the server says later has a reader.
  exec 9< "$said"
  while read -r line <&9; do
    echo "$line"
    case $line in
      Serving*)
        docs_address=${line#* at http://}
        docs_address=${docs_address%%[/ ]*}
        return
        ;;
      "The page "*) return ;;
    esac
  done
  docs_server=
  return 1
}

stop_server() {
  [ -n "$docs_server" ] || return 0
  kill "$docs_server"
  wait "$docs_server"
  docs_server=
}
trap stop_server EXIT

# An answer that is an error fails. A stream of events has no end: two seconds of it are enough.
curl() {
  set -- "${@//127.0.0.1:8080/$docs_address}"
  set -- "${@//localhost:8080/$docs_address}"
  case "$*" in
    */events*) command curl --fail-with-body -m 2 "$@" || [ $? = 28 ] ;;
    *) command curl --fail-with-body "$@" ;;
  esac
}

# Runs the program of the page.
program() {
  sed "s|127.0.0.1:8080|$docs_address|g" "$DOCS_HOME/program.ts" > "$DOCS_HOME/example.mts"
  NODE_OPTIONS=$DOCS_NODE_OPTIONS node "$DOCS_HOME/example.mts"
}

# The first id that a command lists.
id_of() {
  command_line "$@" --json | grep -oE '"(session_id|id|message)": *"?[^",}]+' |
    sed -nE '1s/^"[a-z_]+": *"?//p'
}

# The id of what was added to memory last, not of what it replaced.
added_id() {
  command_line memory list --limit 1000 --json |
    sed 's/"earlier":\[[^]]*\]//g' | grep -oE 'added:[^"]+' | tail -n 1
}
