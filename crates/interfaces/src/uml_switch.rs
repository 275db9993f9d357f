//! Exchanges frames with a switch of User Mode Linux, `uml_switch`.
//!
//! PATH is the switch's control socket, by which it is told where to send frames to and tells where it wants them. What the switch
//! sends is emitted, what is pulled is sent to it; both are Ethernet frames. The switch must be running, and answer within ten
//! seconds, when the graph begins.
//!
//! ```click
//! switch :: UMLSwitch(/tmp/uml.ctl);
//! switch -> EtherMirror -> Queue -> switch;
//! ```

use args::Filename;
use element::{Arg, Class, Configure, Element, Failed, Role};

use crate::transport::{methods, Place, Settings, Transport, DROPS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<UMLSwitch>("UMLSwitch", "0-1/0-1", "l/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input);

const ARGS: &[Arg] =
    &[Arg::optional("PATH", "filename", "The switch's control socket. Default /tmp/uml.ctl.")];

const DEFAULT_PATH: &str = "/tmp/uml.ctl";

/// See the page above.
pub struct UMLSwitch(Transport);

impl Element for UMLSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<UMLSwitch, Failed> {
        let Filename(control) = conf.args.get_or("PATH", Filename(DEFAULT_PATH.to_string()));
        conf.finish()?;
        Ok(UMLSwitch(Transport::new(Settings::of_client(Place::Switch { control }))))
    }

    methods!();
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, has_reached, run_until, Scratch};
    use std::io::{Read, Write};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use expect_test::expect;
    use socket2::SockAddr;

    /// The address in a request: that of a Unix socket with a name of 108 bytes.
    fn address(bytes: &[u8]) -> SockAddr {
        SockAddr::unix(std::ffi::OsStr::from_bytes(&bytes[2..110])).unwrap()
    }

    #[test]
    fn frames_go_to_the_switch_and_come_back() {
        let scratch = Scratch::new();
        let (path, data_path) = (scratch.path("control"), scratch.path("data"));
        let listener = UnixListener::bind(&path).unwrap();
        let data = UnixDatagram::bind(&data_path).unwrap();
        let answers = data_path.clone();
        let switch = std::thread::spawn(move || {
            let (mut control, _) = listener.accept().unwrap();
            let mut request = [0; 124];
            control.read_exact(&mut request).unwrap();
            let (magic, version) = (0xfeed_face_u32.to_ne_bytes(), 3_u32.to_ne_bytes());
            assert_eq!(request[..12], [magic, version, [0; 4]].concat());
            let mut reply = [0; 110];
            reply[0] = 1;
            reply[2..2 + answers.len()].copy_from_slice(answers.as_bytes());
            control.write_all(&reply).unwrap();
            let mut frame = [0; 100];
            let (n, _) = data.recv_from(&mut frame).unwrap();
            assert_eq!(&frame[..n], b"hello");
            let socket = socket2::Socket::from(std::os::fd::OwnedFd::from(data));
            socket.send_to(b"good day", &address(&request[12..])).unwrap();
            // The connection lasts as long as the element.
            assert_eq!(control.read(&mut frame).unwrap(), 0);
        });
        let config = format!(
            "InfiniteSource(DATA hello, LIMIT 1) -> Queue -> u :: UMLSwitch({path}) -> Print(in) -> c :: Counter -> Discard"
        );
        let told = run_until(&config, &["c.count"], has_reached("c.count", 1));
        switch.join().unwrap();
        expect![[r#"
            in:    8 | 676f6f64 20646179
            c.count: 1
        "#]]
        .assert_eq(&told);
    }

    #[test]
    fn a_switch_that_is_not_there_is_told() {
        check(
            "Idle -> UMLSwitch(/none/such) -> Discard",
            expect![[r#"
                config:1: While initializing 'UMLSwitch@2 :: UMLSwitch':
                  could not connect to control socket /none/such: No such file or directory
                Router could not be initialized!
            "#]],
        );
        check(
            "Idle -> UMLSwitch(/none/such, 5)",
            expect![[r#"
            config:1: While configuring 'UMLSwitch@2 :: UMLSwitch':
              too many arguments
            Router could not be initialized!
        "#]],
        );
        let long = "x".repeat(108);
        check(
            &format!("Idle -> UMLSwitch(/{long})"),
            expect![[r#"
            config:1: While initializing 'UMLSwitch@2 :: UMLSwitch':
              path to uml_switch control socket too long
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn a_switch_that_hangs_up_is_told() {
        let scratch = Scratch::new();
        let path = scratch.path("control");
        let listener = UnixListener::bind(&path).unwrap();
        let switch =
            std::thread::spawn(move || listener.accept().unwrap().0.read_exact(&mut [0; 124]).unwrap());
        let told = crate::testing::run(&format!("Idle -> UMLSwitch({path})"), &[]);
        switch.join().unwrap();
        expect![[r#"
            config:1: While initializing 'UMLSwitch@2 :: UMLSwitch':
              read of data socket failed: failed to fill whole buffer
            Router could not be initialized!
        "#]]
        .assert_eq(&told);
    }
}
