#!/bin/sh
# Called by udhcpc with the event as $1 and the lease in the environment (the address is in $ip). Applies it, and
# writes it beside this script for the program that started the client. Resolver files are left alone.
if command -v ip >/dev/null; then tool=ip; else tool="busybox ip"; fi
route() {
    # A gateway that no prefix covers is taken to be on the link, as cloud images do.
    if [ "$2" = 0.0.0.0 ]; then
        $tool -4 route replace "$1" dev "$interface"
    else
        $tool -4 route replace "$1" via "$2" dev "$interface" onlink
    fi
}
case "$1" in
deconfig | leasefail | nak)
    rm -f "$0.lease"
    $tool -4 addr flush dev "$interface"
    $tool link set "$interface" up
    ;;
bound | renew)
    [ -z "$mtu" ] || $tool link set "$interface" mtu "$mtu"
    [ "$1" = renew ] || $tool -4 addr flush dev "$interface"
    $tool -4 addr replace "$ip/$mask" dev "$interface"
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
    {
        echo "address=$ip/$mask"
        echo "router=$router"
        echo "dns=$dns"
        echo "domain=$domain"
        echo "mtu=$mtu"
        echo "routes=$staticroutes"
        echo "server=$serverid"
        echo "seconds=$lease"
    } >"$0.new"
    mv "$0.new" "$0.lease"
    ;;
esac
exit 0
