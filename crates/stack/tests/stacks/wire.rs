//! What tests do with ports: send and receive frames, and carry them from one to another.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use stack::Port;
use sys::packet_socket::TxFrame;
use sys::poll::{Interest, Poller};
use sys::vnet::VnetHeader;

/// When a test gives up waiting.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A port with the frames that were taken out of it and not looked at yet.
pub struct Wire {
    pub port: Port,
    waiting: std::collections::VecDeque<(VnetHeader, Vec<u8>)>,
}

impl Wire {
    pub fn new(port: Port) -> Self {
        Self { port, waiting: Default::default() }
    }

    pub fn send(&mut self, vnet: VnetHeader, frame: &[u8]) {
        // A ring that is full of what came long ago would have no room for the answer.
        while self.fill() {}
        match &mut self.port {
            Port::Tap(tap) => {
                assert!(tap.send(vnet, frame).unwrap());
            }
            Port::Cable(cable) => {
                assert_eq!(cable.tx.send_batch(&[TxFrame { vnet, data: frame }]).unwrap(), 1);
            }
        }
    }

    /// A frame that is there.
    pub fn receive(&mut self) -> Option<(VnetHeader, Vec<u8>)> {
        if self.waiting.is_empty() {
            self.fill();
        }
        self.waiting.pop_front()
    }

    /// The next frame.
    pub fn wait(&mut self) -> Vec<u8> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some((_, frame)) = self.receive() {
                return frame;
            }
            let mut poller = Poller::new().unwrap();
            poller.add(self.fd(), 0, Interest::READ).unwrap();
            let left = deadline.checked_duration_since(Instant::now()).expect("a frame comes in time");
            poller.wait(Some(left)).unwrap();
        }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        match &self.port {
            Port::Tap(tap) => tap.as_fd(),
            Port::Cable(cable) => cable.rx.as_fd(),
        }
    }

    /// Takes packets out of the port; whether there were any.
    fn fill(&mut self) -> bool {
        let n_before = self.waiting.len();
        let mut buf = vec![0; 70_000];
        let received = match &mut self.port {
            Port::Tap(tap) => tap.recv(&mut buf).unwrap(),
            Port::Cable(cable) => cable.rx.recv(&mut buf).unwrap(),
        };
        if let Some(received) = received {
            buf.truncate(received.len);
            self.waiting.push_back((received.vnet, buf));
        }
        self.waiting.len() > n_before
    }
}

/// Carries what is there from each to the other.
pub fn carry(a: &mut Wire, b: &mut Wire) {
    while let Some((vnet, frame)) = a.receive() {
        b.send(vnet, &frame);
    }
    while let Some((vnet, frame)) = b.receive() {
        a.send(vnet, &frame);
    }
}
