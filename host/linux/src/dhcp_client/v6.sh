#!/bin/sh
# Called by dhclient -6 with the event in $reason and the lease in the environment. Applies it, and writes it beside
# this script for the program that started the client. Resolver files are left alone.
if command -v ip >/dev/null; then tool=ip; else tool="busybox ip"; fi
case "$reason" in
PREINIT6)
    $tool link set "$interface" up
    ;;
BOUND6 | RENEW6 | REBIND6)
    [ -z "$new_ip6_address" ] || {
        # The lease says nothing of the prefix on the link; that comes by router announcements, where there are any.
        $tool -6 addr replace "$new_ip6_address/${PREFIX_LENGTH:-64}" dev "$interface" nodad
        echo "address=$new_ip6_address/${PREFIX_LENGTH:-64}"
        echo "dns=$new_dhcp6_name_servers"
        echo "domain=$new_dhcp6_domain_search"
        echo "server=$new_dhcp6_server_id"
        echo "seconds=$new_max_life"
    } >"$0.new"
    [ ! -s "$0.new" ] || mv "$0.new" "$0.lease"
    ;;
EXPIRE6 | RELEASE6 | STOP6 | DEPREF6)
    [ "$reason" = DEPREF6 ] || {
        rm -f "$0.lease"
        [ -z "$old_ip6_address" ] || $tool -6 addr del "$old_ip6_address/${PREFIX_LENGTH:-64}" dev "$interface"
    }
    ;;
esac
exit 0
