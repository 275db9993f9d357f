//! The API over TLS: certificates, tokens, roles; and with a client that nobody here wrote, curl.

use std::cell::RefCell;

use super::process::{as_each_user, until, Place, Running};
use super::same;

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
    super::await_answer(place, &mut daemon);
    (daemon, port)
}

#[test]
fn clients_show_who_they_are_and_do_what_their_role_allows() {
    let texts = RefCell::new(Vec::new());
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
            as -u ann:wrong $url/restconf/data
            as -u bob:secret $url/restconf/data
            as -u robot:secret $url/restconf/yang-library-version | cut -c1-4
            as --cert ann.pem --key ann.key -X PUT -H "$json" -d '{{"weir:access":{{}}}}' $url/restconf/data/weir:access
            curl -s http://localhost:{port}/ >/dev/null || echo no plain HTTP
            export WEIR_SERVER=$url WEIR_CA=ca.pem
            weir show || :
            env -u WEIR_CA weir show 2>&1 | sed 's/.*: the/the/'
            WEIR_TOKEN=secret weir create firewall fw2 && WEIR_TOKEN=secret weir show
            WEIR_CERT=bob.pem WEIR_KEY=bob.key weir delete fw2 || :"#
        ));
        texts.borrow_mut().push(text);
        drop(daemon);
    });
    same(
        &texts,
        &expect_test::expect![[r#"
            401 a client certificate or a token is needed: Authorization: Bearer TOKEN
            401 the token is not known, or belongs to another name; `weir serve --tokens` names the file that has all
            200 
            403 bob may not write /firewall:firewall=fw: that needs the role operate; the role is read
            201 
            204 
            403 robot may not administer /functions/firewall: that needs the role administer; the role is operate
            401 the token is not known, or belongs to another name; `weir serve --tokens` names the file that has all
            401 the token is not known, or belongs to another name; `weir serve --tokens` names the file that has all
            200 
            403 ann may not write /weir:access: that needs the role administer; the role is operate
            no plain HTTP
            weir: a client certificate or a token is needed; give --cert and --key, or --token
            the server's certificate is refused: nobody who is trusted has signed it; give the certificate of who did with --ca FILE
            INSTANCE  FUNCTION  PORTS
            fw2       firewall  left, right
            weir: bob may not write `fw2`: that needs the role operate; the role is read
        "#]],
    );
}

#[test]
fn certificates_and_tokens_are_read_anew_when_they_change() {
    let place = Place::new(super::process::users()[0]);
    let (daemon, port) = start(&place);
    let text = place.output(&format!(
        r#"exec 2>&1
        as() {{ curl -s -o /dev/null -w '%{{http_code}} ' --cacert ca.pem -H "authorization: Bearer $1" https://localhost:{port}/restconf/data; }}
        serial() {{ openssl s_client -connect localhost:{port} </dev/null 2>/dev/null | openssl x509 -noout -serial; }}
        as secret; as other
        printf 'robot read %s\n' "$(printf other | sha256sum | cut -d' ' -f1)" > tokens.new; mv tokens.new tokens
        as secret; as other
        echo nonsense > tokens; as secret; as other; echo
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout new.key -out new.csr -subj /CN=localhost 2>/dev/null
        openssl x509 -req -in new.csr -CA ca.pem -CAkey ca.key -set_serial 77 -out new.pem -days 2 -extfile server.ext 2>/dev/null
        printf 'robot read %s\n' "$(printf third | sha256sum | cut -d' ' -f1)" > tokens
        mv new.pem server.pem; as third; mv new.key server.key; as third; serial"#
    ));
    assert_eq!(text, "200 401 401 200 401 200 \n401 200 serial=4D\n");
    let n_told = || daemon.stderr().matches("certificates and tokens are read anew").count();
    let n_before = n_told();
    place.output(&format!("kill -HUP {}", daemon.id()));
    until("they are read though nothing has changed", || n_told() > n_before);
    let log = daemon.stderr();
    for told in [
        "stays: tokens: line 1: there are 1 words; expected NAME ROLE SHA256",
        "stays: server.pem: ",
        "are read anew",
    ] {
        assert!(log.contains(told), "{told}\n{log}");
    }
}

#[test]
fn restconf_answers_as_the_standard_says() {
    let texts = RefCell::new(Vec::new());
    as_each_user(|place| {
        let mut daemon = place.start("exec weir serve --volatile --socket api.socket");
        super::await_answer(place, &mut daemon);
        let text = place.output(
            r#"exec 2>&1
            type=application/yang-data+json
            ask() { curl -s --unix-socket api.socket -i -H "content-type: $type" "$@" | tr -d '\r' |
                grep -Eiv '^(date|cache-control|content-length|content-type|last-modified|$)' | sed "s/\"$start-/\"/"; echo; }
            base=http://weir/restconf/data
            start=$(curl -sI --unix-socket api.socket $base | sed -n 's/^etag: "\(.*\)-.*/\1/p')
            ask http://weir/.well-known/host-meta
            ask -X POST -d '{"firewall:firewall":[{"name":"fw"}]}' $base
            ask -X POST -d '{"firewall:firewall":[{"name":"fw"}]}' $base
            ask -X POST -d '{"firewall:rule":[{"id":5,"action":"deny"}]}' $base/firewall:firewall=fw
            ask -X POST -d '{"rule":[{"id":4,"action":"allow","match":"tcp"}]}' "$base/firewall:firewall=fw?insert=before&point=/firewall:firewall=fw/rule=5"
            ask "$base/firewall:firewall=fw?content=config&fields=rule(id;action)"
            ask "$base/firewall:firewall=fw?depth=1&content=config&with-defaults=report-all"
            ask $base/firewall:firewall=fw/mtu?with-defaults=report-all
            ask -X PUT -d '{"firewall:mtu":1400}' -H "if-match: \"$start-1\"" $base/firewall:firewall=fw/mtu
            ask -X PUT -d '{"firewall:mtu":1400}' -H "if-match: \"$start-3\"" $base/firewall:firewall=fw/mtu
            ask -H "if-none-match: \"$start-4\"" $base?content=config
            ask -X PATCH -d '{"firewall:firewall":[{"name":"fw","stateful":true}]}' $base/firewall:firewall=fw
            type=application/yang-patch+json ask -X PATCH -d '{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[
                {"edit-id":"a","operation":"remove","target":"/rule=4"},
                {"edit-id":"b","operation":"merge","target":"/mtu","value":{"mtu":99999}}]}}' $base/firewall:firewall=fw
            type=application/yang-patch+json ask -X PATCH -d '{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[
                {"edit-id":"a","operation":"move","target":"/rule=5","where":"first"}]}}' $base/firewall:firewall=fw
            ask $base/firewall:firewall=fw/rule
            ask -X DELETE $base/firewall:firewall=fw/rule=5
            ask -X DELETE $base/firewall:firewall=fw/rule=5
            ask -X DELETE $base/firewall:firewall=fw/name
            ask -X BREW $base/firewall:firewall=fw
            type=text/plain ask -X PUT -d x $base/firewall:firewall=fw
            ask -X PUT -d '{"x":' $base/firewall:firewall=fw
            ask "$base/firewall:firewall=fw?depth=0"
            ask "$base/firewall:firewall=%ff"
            ask $base/ietf-restconf-monitoring:restconf-state/capabilities"#,
        );
        texts.borrow_mut().push(text);
    });
    same(
        &texts,
        &expect_test::expect![[r#"
            HTTP/1.1 200 OK
            <XRD xmlns='http://docs.oasis-open.org/ns/xri/xrd-1.0'>
              <Link rel='restconf' href='/restconf'/>
            </XRD>

            HTTP/1.1 201 Created
            etag: "1"
            location: /restconf/data/firewall:firewall=fw

            HTTP/1.1 409 Conflict
            {"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"data-exists","error-path":"/firewall:firewall=fw","error-message":"/firewall:firewall=fw exists already; change it with PUT or PATCH"}]}}

            HTTP/1.1 201 Created
            etag: "2"
            location: /restconf/data/firewall:firewall=fw/rule=5

            HTTP/1.1 201 Created
            etag: "3"
            location: /restconf/data/firewall:firewall=fw/rule=4

            HTTP/1.1 200 OK
            etag: "3"
            {"firewall:firewall":[{"rule":[{"id":4,"action":"allow"},{"id":5,"action":"deny"}]}]}

            HTTP/1.1 200 OK
            etag: "3"
            {"firewall:firewall":[{}]}

            HTTP/1.1 200 OK
            etag: "3"
            {"firewall:mtu":1500}

            HTTP/1.1 412 Precondition Failed
            {"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"operation-failed","error-message":"the configuration has changed meanwhile: read it again, then make your change"}]}}

            HTTP/1.1 201 Created
            etag: "4"

            HTTP/1.1 304 Not Modified
            etag: "4"

            HTTP/1.1 204 No Content
            etag: "5"

            HTTP/1.1 400 Bad Request
            {"ietf-yang-patch:yang-patch-status":{"patch-id":"p","edit-status":{"edit":[{"edit-id":"b","errors":{"error":[{"error-type":"application","error-tag":"invalid-value","error-path":"/firewall:firewall=fw/mtu","error-message":"`mtu` `99999`: expected a number from 68 to 65535"}]}}]}}}

            HTTP/1.1 200 OK
            etag: "6"
            {"ietf-yang-patch:yang-patch-status":{"patch-id":"p","ok":[null]}}

            HTTP/1.1 200 OK
            etag: "6"
            {"firewall:rule":[{"id":5,"action":"deny"},{"id":4,"action":"allow","match":"tcp"}]}

            HTTP/1.1 204 No Content
            etag: "7"

            HTTP/1.1 404 Not Found
            {"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"invalid-value","error-path":"/firewall:firewall=fw/rule=5","error-message":"/firewall:firewall=fw/rule=5 does not exist"}]}}

            HTTP/1.1 405 Method Not Allowed
            allow: GET
            {"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"operation-not-supported","error-message":"DELETE is not for this resource; allowed: GET"}]}}

            HTTP/1.1 405 Method Not Allowed
            allow: GET, POST, PUT, PATCH, DELETE
            {"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"operation-not-supported","error-message":"BREW is not for this resource; allowed: GET, POST, PUT, PATCH, DELETE"}]}}

            HTTP/1.1 415 Unsupported Media Type
            {"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"invalid-value","error-message":"the body is text/plain; it must be application/yang-data+json or application/json"}]}}

            HTTP/1.1 400 Bad Request
            {"ietf-restconf:errors":{"error":[{"error-type":"rpc","error-tag":"malformed-message","error-message":"the body is no JSON: EOF while parsing a value at line 1 column 5"}]}}

            HTTP/1.1 400 Bad Request
            {"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"invalid-value","error-message":"`depth=0`: expected a number from 1 to 65535, or unbounded"}]}}

            HTTP/1.1 400 Bad Request
            {"ietf-restconf:errors":{"error":[{"error-type":"rpc","error-tag":"malformed-message","error-message":"the path is not in UTF-8"}]}}

            HTTP/1.1 200 OK
            {"ietf-restconf-monitoring:capabilities":{"capability":["urn:ietf:params:restconf:capability:defaults:1.0?basic-mode=explicit","urn:ietf:params:restconf:capability:depth:1.0","urn:ietf:params:restconf:capability:fields:1.0","urn:ietf:params:restconf:capability:with-defaults:1.0","urn:ietf:params:restconf:capability:yang-patch:1.0"]}}

        "#]],
    );
}
