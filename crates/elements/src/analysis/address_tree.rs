//! Anonymous addresses: a random mapping in which addresses that begin alike stay so.
//!
//! The method is that of tcpdpriv's option -A50: a binary tree whose leaves are the addresses that came, each with its image.
//! Where a new address leaves the way to a known one, its image differs from the known image in that bit, and is random behind
//! it. Networks that are to stay are known from the start. Random numbers are drawn as Click draws them.

/// An address, and its image; or, with children, a place where the ways of addresses part.
#[derive(Clone, Copy, Debug)]
struct Node {
    input: u32,
    output: u32,
    /// Both children, the one whose bit is 0 first; none if `None`.
    children: Option<[u32; 2]>,
}

/// The mapping.
pub struct AddressTree {
    nodes: Vec<Node>,
}

/// Where random numbers of 32 bits come from.
pub type Draw<'d> = &'d mut dyn FnMut() -> u32;

const ROOT: usize = 0;
/// The bits that tell a network of 8 bits.
const NETWORK: u32 = 0xFF00_0000;

/// Number of leading bits that two different addresses share.
fn n_shared(a: u32, b: u32) -> u32 {
    (a ^ b).leading_zeros()
}

impl AddressTree {
    /// A mapping that keeps as many leading ones as `n_ones` says, and the networks of 8 bits in `networks`.
    pub fn new(n_ones: u32, networks: &[u8], draw: Draw<'_>) -> AddressTree {
        let random = draw();
        let networks = networks.iter().map(|network| u32::from(*network) << 24);
        let ones = !u32::MAX.checked_shr(n_ones).unwrap_or(0);
        let mut root =
            Node { input: if n_ones == 0 { 1 } else { ones }, output: random | ones, children: None };
        // A network that begins with as many ones must not differ from what else begins with them.
        if let Some(network) = networks.clone().find(|network| n_ones < 8 && network & ones == ones) {
            root = Node { input: network, output: random & !NETWORK | network, children: None };
        }
        let mut tree = AddressTree { nodes: vec![root] };
        for network in networks {
            let leaf = tree.find(network, draw);
            if let Some(node) = tree.nodes.get_mut(leaf) {
                node.output = node.output & !NETWORK | network;
            }
        }
        tree
    }

    /// The image of an address; 0.0.0.0 and 255.255.255.255 are their own.
    pub fn map(&mut self, address: u32, draw: Draw<'_>) -> u32 {
        match address {
            0 | u32::MAX => address,
            _ => {
                let idx = self.find(address, draw);
                self.nodes.get(idx).map_or(address, |node| node.output)
            }
        }
    }

    /// The leaf of an address, which is added if need be.
    fn find(&mut self, address: u32, draw: Draw<'_>) -> usize {
        let mut idx = ROOT;
        loop {
            let Some(node) = self.nodes.get(idx).copied() else { return idx };
            if node.input == address && node.children.is_none() {
                return idx;
            }
            let Some([zero, one]) = node.children else { return self.part(idx, node, address, draw) };
            let input = |idx: u32| self.nodes.get(idx as usize).map_or(0, |child| child.input);
            let n_bits = n_shared(input(zero), input(one));
            if n_shared(address, node.input) < n_bits {
                return self.part(idx, node, address, draw);
            }
            idx = if address << n_bits >> 31 == 1 { one as usize } else { zero as usize };
        }
    }

    /// Adds an address whose way parts at a node; the node moves down, and becomes the place where the ways part.
    fn part(&mut self, idx: usize, node: Node, address: u32, draw: Draw<'_>) -> usize {
        let n_bits = n_shared(address, node.input);
        let bit = 1 << 31 >> n_bits;
        // Nothing is behind the last bit. As in Click, the bit behind the one that differs is 0.
        let random = if bit == 1 { 0 } else { (draw() & 0x7FFF_FFFF) >> (n_bits + 1) };
        let output = (node.output ^ bit) & !(bit - 1) | random;
        let new = Node { input: address, output, children: None };
        let first = self.nodes.len();
        let (zero, one) = if address & bit == 0 { (new, node) } else { (node, new) };
        self.nodes.extend([zero, one]);
        let children = Some([first as u32, first as u32 + 1]);
        if let Some(node) = self.nodes.get_mut(idx) {
            *node = Node { input: one.input, output: one.output, children };
        }
        first + usize::from(address & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Random numbers that a seed tells.
    fn numbers(mut seed: u64) -> impl FnMut() -> u32 {
        move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 32) as u32
        }
    }

    proptest! {
        #[test]
        fn addresses_begin_as_alike_as_their_images(
            addresses in prop::collection::vec(prop_oneof![any::<u32>(), 0x0A00_0000u32..0x0A00_0010], 2..60),
            seed: u64,
        ) {
            let mut draw = numbers(seed);
            let mut tree = AddressTree::new(0, &[], &mut draw);
            let is_special = |address: u32| address == 0 || address == u32::MAX;
            let images: Vec<_> = addresses.iter().map(|&address| (address, tree.map(address, &mut draw))).collect();
            for &(a, image_a) in &images {
                prop_assert_eq!(tree.map(a, &mut draw), image_a);
                for &(b, image_b) in images.iter().filter(|(b, _)| !is_special(a) && !is_special(*b)) {
                    prop_assert_eq!(n_shared(a, b), n_shared(image_a, image_b), "{:x} {:x}", a, b);
                }
            }
        }

        #[test]
        fn networks_and_leading_ones_stay(addresses: Vec<u32>, n_ones in 0u32..33, networks: Vec<u8>, seed: u64) {
            let mut draw = numbers(seed);
            let mut tree = AddressTree::new(n_ones, &networks, &mut draw);
            for address in addresses {
                let image = tree.map(address, &mut draw);
                prop_assert_eq!(address.leading_ones().min(n_ones), image.leading_ones().min(n_ones));
                let is_kept = |address: u32| networks.contains(&((address >> 24) as u8));
                prop_assert_eq!(is_kept(address), is_kept(image));
            }
        }
    }

    #[test]
    fn special_addresses_stay() {
        let mut draw = numbers(1);
        let mut tree = AddressTree::new(32, &[0, 255], &mut draw);
        assert_eq!([0, u32::MAX].map(|address| tree.map(address, &mut draw)), [0, u32::MAX]);
    }
}
