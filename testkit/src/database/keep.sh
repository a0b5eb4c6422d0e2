# Keeps a server for the test processes of one run, and stops it when none has used it for a while.
# Arguments: the directory, then the command. A user holds a shared lock on `users`; `lock` is held by whoever starts, joins
# or stops the server.
# KEEP_AFTER is a command to run at the end.
dir=$1
shift
trap '${KEEP_AFTER:-:}' EXIT
"$@" </dev/null >>"$dir/log" 2>&1 8>&- &
server=$!
echo "$server" >"$dir/pid"
exec 8>"$dir/lock"
idle=0
while kill -0 "$server" 2>/dev/null; do
  sleep 1
  if flock --nonblock --exclusive "$dir/users" true; then idle=$((idle + 1)); else idle=0; fi
  [ "$idle" -ge 20 ] || continue
  flock --nonblock --exclusive 8 || continue
  if flock --nonblock --exclusive "$dir/users" true; then
    rm -f "$dir/pid"
    # Nobody wants what is in it.
    kill -QUIT "$server"
    wait "$server" 2>/dev/null
    rm -rf "$dir/data"
    exit
  fi
  flock --unlock 8
done
rm -f "$dir/pid"
