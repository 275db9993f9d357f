//! Anonymous addresses: a random mapping in which addresses that begin alike stay so.
//!
//! The method is that of tcpdpriv's option -A50: a binary tree whose leaves are the addresses that came, each with its image.
//! Where a new address leaves the way to a known one, its image differs from the known image in that bit, and is random behind it,
//! but for the bits that are to stay.

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
    random: fastrand::Rng,
    n_ones: u32,
    networks: Vec<u8>,
}

const ROOT: usize = 0;

/// Number of leading bits that two different addresses share.
fn n_shared(a: u32, b: u32) -> u32 {
    (a ^ b).leading_zeros()
}

impl AddressTree {
    /// A mapping that keeps as many leading ones as `n_ones` says, and the networks of 8 bits in `networks`.
    pub fn new(n_ones: u32, networks: Vec<u8>, seed: u64) -> AddressTree {
        let random = fastrand::Rng::with_seed(seed);
        let mut tree = AddressTree { nodes: Vec::new(), random, n_ones, networks };
        // 0.0.0.0 is its own image, and is not in the tree.
        let root = tree.leaf(1, 0, u32::MAX);
        tree.nodes.push(root);
        tree
    }

    /// A new leaf. Of its image the bits in `free` are random, where they need not stay; the others are given.
    fn leaf(&mut self, input: u32, given: u32, free: u32) -> Node {
        let kept = self.kept_bits(input);
        let random = self.random.u32(..) & !kept | input & kept;
        Node { input, output: given & !free | random & free, children: None }
    }

    /// The first bits of an address that its image has as well: whether a bit is one of them depends on those before it.
    fn kept_bits(&self, address: u32) -> u32 {
        let n_ones = (address.leading_ones() + 1).min(self.n_ones);
        let n_shared = |network: &u8| n_shared(address, u32::from(*network) << 24);
        let n_network = self.networks.iter().map(|network| (n_shared(network) + 1).min(8));
        !u32::MAX.checked_shr(n_network.max().unwrap_or(0).max(n_ones)).unwrap_or(0)
    }

    /// The image of an address; 0.0.0.0 and 255.255.255.255 are their own.
    pub fn map(&mut self, address: u32) -> u32 {
        match address {
            0 | u32::MAX => address,
            _ => {
                let idx = self.find(address);
                self.nodes.get(idx).map_or(address, |node| node.output)
            }
        }
    }

    /// The leaf of an address, which is added if need be.
    fn find(&mut self, address: u32) -> usize {
        let mut idx = ROOT;
        loop {
            let Some(node) = self.nodes.get(idx).copied() else { return idx };
            if node.input == address && node.children.is_none() {
                return idx;
            }
            let Some([zero, one]) = node.children else { return self.part(idx, node, address) };
            let input = |idx: u32| self.nodes.get(idx as usize).map_or(0, |child| child.input);
            let n_bits = n_shared(input(zero), input(one));
            if n_shared(address, node.input) < n_bits {
                return self.part(idx, node, address);
            }
            idx = if address << n_bits >> 31 == 1 { one as usize } else { zero as usize };
        }
    }

    /// Adds an address whose way parts at a node; the node moves down, and becomes the place where the ways part.
    fn part(&mut self, idx: usize, node: Node, address: u32) -> usize {
        let n_bits = n_shared(address, node.input);
        let bit = 1 << 31 >> n_bits;
        let new = self.leaf(address, node.output ^ bit, bit - 1);
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

    proptest! {
        #[test]
        fn addresses_begin_as_alike_as_their_images(
            addresses in prop::collection::vec(prop_oneof![any::<u32>(), 0x0A00_0000u32..0x0A00_0010], 2..60),
            seed: u64,
        ) {
            let mut tree = AddressTree::new(0, Vec::new(), seed);
            let is_special = |address: u32| address == 0 || address == u32::MAX;
            let images: Vec<_> = addresses.iter().map(|&address| (address, tree.map(address))).collect();
            for &(a, image_a) in &images {
                prop_assert_eq!(tree.map(a), image_a);
                for &(b, image_b) in images.iter().filter(|(b, _)| !is_special(a) && !is_special(*b)) {
                    prop_assert_eq!(n_shared(a, b), n_shared(image_a, image_b), "{:x} {:x}", a, b);
                }
            }
        }

        #[test]
        fn networks_and_leading_ones_stay(addresses: Vec<u32>, n_ones in 0u32..33, networks: Vec<u8>, seed: u64) {
            let mut tree = AddressTree::new(n_ones, networks.clone(), seed);
            for address in addresses {
                let image = tree.map(address);
                prop_assert_eq!(address.leading_ones().min(n_ones), image.leading_ones().min(n_ones));
                let is_kept = |address: u32| networks.contains(&((address >> 24) as u8));
                prop_assert_eq!(is_kept(address), is_kept(image));
            }
        }
    }

    #[test]
    fn special_addresses_stay() {
        let mut tree = AddressTree::new(32, vec![0, 255], 1);
        assert_eq!([0, u32::MAX].map(|address| tree.map(address)), [0, u32::MAX]);
    }
}
