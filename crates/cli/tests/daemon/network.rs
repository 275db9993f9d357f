//! The API over TLS: certificates, tokens, roles; and with a client that nobody here wrote, curl.

use super::process::{as_each_user, until, Place, Running};

/// Makes an authority, a server's certificate for localhost, and clients' certificates with roles.
const CERTIFICATES: &str = r#"
set -e
exec 2>/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority
sign() { # NAME SUBJECT EXTENSION
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $1.key -out $1.csr -subj "$2"
  printf '%s\n' "$3" > $1.ext
  openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $1.pem -days 2 -extfile $1.ext
}
sign server /CN=localhost subjectAltName=DNS:localhost,IP:127.0.0.1
sign ann /CN=ann/OU=operate extendedKeyUsage=clientAuth
sign bob /CN=bob/OU=read extendedKeyUsage=clientAuth
printf 'robot operate %s\n' "$(printf secret | sha256sum | cut -d' ' -f1)" > tokens
"#;

/// A daemon on a port that nobody else has, and the port.
fn start(place: &Place) -> (Running, u16) {
    place.output(CERTIFICATES);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut daemon = place.start(&format!(
        "exec weir serve --volatile --socket api.socket --listen 127.0.0.1:{port} --certificate server.pem --key server.key \
         --client-ca ca.pem --tokens tokens"
    ));
    until("the daemon answers", || {
        assert!(daemon.runs(), "{}", daemon.stderr());
        place.run("WEIR_SOCKET=api.socket weir show").code == 0
    });
    (daemon, port)
}

#[test]
fn clients_show_who_they_are_and_do_what_their_role_allows() {
    as_each_user(|place| {
        let (daemon, port) = start(place);
        let text = place.output(&format!(
            r#"exec 2>&1
            as() {{ curl -s -o body -w '%{{http_code}} ' --cacert ca.pem "$@"; sed -n 's/.*"error-message":"\([^"]*\)".*/\1/p' body; [ -s body ] || echo; }}
            url=https://localhost:{port}
            new='{{"firewall:firewall":[{{"name":"fw"}}]}}'
            json='content-type: application/yang-data+json'
            as $url/restconf/data
            as -H 'authorization: Bearer wrong' $url/restconf/data
            as --cert bob.pem --key bob.key $url/restconf/yang-library-version | cut -c1-4
            as --cert bob.pem --key bob.key -X PUT -H "$json" -d "$new" $url/restconf/data/firewall:firewall=fw
            as --cert ann.pem --key ann.key -X PUT -H "$json" -d "$new" $url/restconf/data/firewall:firewall=fw
            as -H 'authorization: Bearer secret' -X DELETE $url/restconf/data/firewall:firewall=fw
            as -H 'authorization: Bearer secret' -X DELETE $url/functions/firewall
            as --cert ann.pem --key ann.key -X PUT -H "$json" -d '{{"weir:access":{{}}}}' $url/restconf/data/weir:access
            curl -s http://localhost:{port}/ >/dev/null || echo no plain HTTP
            export WEIR_SERVER=$url WEIR_CA=ca.pem
            weir show
            WEIR_TOKEN=secret weir create firewall fw2 && WEIR_TOKEN=secret weir show
            WEIR_CERT=bob.pem WEIR_KEY=bob.key weir delete fw2"#
        ));
        expect_test::expect![[r#""#]].assert_eq(&text);
        drop(daemon);
    });
}

#[test]
fn restconf_answers_as_the_standard_says() {
    as_each_user(|place| {
        let mut daemon = place.start("exec weir serve --volatile --socket api.socket");
        until("the daemon answers", || {
            assert!(daemon.runs(), "{}", daemon.stderr());
            place.run("WEIR_SOCKET=api.socket weir show").code == 0
        });
        let text = place.output(
            r#"exec 2>&1
            ask() { curl -s --unix-socket api.socket -i -H 'content-type: application/yang-data+json' "$@" | tr -d '\r' |
                grep -Eiv '^(date|cache-control|content-length|content-type|last-modified|$)'; echo; }
            base=http://weir/restconf/data
            ask http://weir/.well-known/host-meta
            ask -X POST -d '{"firewall:firewall":[{"name":"fw"}]}' $base
            ask -X POST -d '{"firewall:firewall":[{"name":"fw"}]}' $base
            ask -X POST -d '{"firewall:rule":[{"id":5,"action":"deny"}]}' $base/firewall:firewall=fw
            ask -X POST -d '{"rule":[{"id":4,"action":"allow","match":"tcp"}]}' "$base/firewall:firewall=fw?insert=before&point=/firewall:firewall=fw/rule=5"
            ask "$base/firewall:firewall=fw?content=config&fields=rule(id;action)"
            ask "$base/firewall:firewall=fw?depth=1&content=config&with-defaults=report-all"
            ask $base/firewall:firewall=fw/mtu?with-defaults=report-all
            ask -X PUT -d '{"firewall:mtu":1400}' -H 'if-match: "1"' $base/firewall:firewall=fw/mtu
            ask -X PUT -d '{"firewall:mtu":1400}' -H 'if-match: "3"' $base/firewall:firewall=fw/mtu
            ask -H 'if-none-match: "4"' $base
            ask -X PATCH -d '{"firewall:firewall":[{"name":"fw","stateful":true}]}' $base/firewall:firewall=fw
            ask -X PATCH -H 'content-type: application/yang-patch+json' -d '{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[
                {"edit-id":"a","operation":"remove","target":"/rule=4"},
                {"edit-id":"b","operation":"merge","target":"/mtu","value":{"mtu":99999}}]}}' $base/firewall:firewall=fw
            ask -X PATCH -H 'content-type: application/yang-patch+json' -d '{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[
                {"edit-id":"a","operation":"move","target":"/rule=5","where":"first"}]}}' $base/firewall:firewall=fw
            ask $base/firewall:firewall=fw/rule
            ask -X DELETE $base/firewall:firewall=fw/rule=5
            ask -X DELETE $base/firewall:firewall=fw/rule=5
            ask -X DELETE $base/firewall:firewall=fw/name
            ask -X BREW $base/firewall:firewall=fw
            ask -X PUT -H 'content-type: text/plain' -d x $base/firewall:firewall=fw
            ask -X PUT -d '{"x":' $base/firewall:firewall=fw
            ask "$base/firewall:firewall=fw?depth=0"
            ask "$base/firewall:firewall=%ff"
            ask $base/ietf-restconf-monitoring:restconf-state/capabilities"#,
        );
        expect_test::expect![[r#""#]].assert_eq(&text);
    });
}
