#!/bin/sh
# Called by udhcpc with the event as $1 and the lease in the environment (the address is in $ip). Applies it, and
# writes it beside this script for the program that started the client. Resolver files are left alone.
# A program started costs more than all it does here, so there is one for each event.
apply() {
    if command -v ip >/dev/null; then
        ip -4 -force -batch -
    else
        while read -r line; do busybox ip -4 $line; done
    fi
}
route() {
    # A gateway that no prefix covers is taken to be on the link, as cloud images do.
    if [ "$2" = 0.0.0.0 ]; then
        echo "route replace $1 dev $interface"
    else
        echo "route replace $1 via $2 dev $interface onlink"
    fi
}
routes() {
    if [ -n "$staticroutes" ]; then
        # With classless routes the router option does not count (RFC 3442).
        set -- $staticroutes
        while [ $# -ge 2 ]; do
            route "$1" "$2"
            shift 2
        done
    else
        for gateway in $router; do
            route default "$gateway"
            break
        done
    fi
}
report() {
    printf 'address=%s\nrouter=%s\ndns=%s\ndomain=%s\nmtu=%s\nroutes=%s\nserver=%s\nseconds=%s\n' \
        "$ip/$mask" "$router" "$dns" "$domain" "$mtu" "$staticroutes" "$serverid" "$lease"
}
case "$1" in
deconfig | leasefail | nak)
    [ ! -e "$0.lease" ] || rm -f "$0.lease"
    apply <<END
addr flush dev $interface
link set $interface up
END
    ;;
bound | renew)
    {
        [ -z "$mtu" ] || echo "link set $interface mtu $mtu"
        [ "$1" = renew ] || echo "addr flush dev $interface"
        echo "addr replace $ip/$mask dev $interface"
        routes
    } | apply
    if [ -e "$0.lease" ]; then
        report >"$0.new"
        mv "$0.new" "$0.lease"
    else
        # Whoever waits takes it for whole when its last line is there.
        report >"$0.lease"
    fi
    ;;
esac
exit 0
