//! The external addresses and their port blocks: which are free, which are whose.

use super::ports::{PortSet, Shuffle, Slot};
use super::ranges::Ranges;
use super::{Endpoint, Protocol, NIL};

/// A port block of an external address, for all protocols.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Index of the subscriber whose it is, or none.
    pub subscriber: u32,
    /// The next block of that subscriber, or none.
    pub next: u32,
    /// Mappings in the block.
    pub n_mappings: u32,
    /// Its ports for each protocol, as far as they were needed.
    sets: [u32; Protocol::ALL.len()],
    /// The second from which on it may be assigned.
    ready_s: u32,
    /// Neighbours in the list of all free blocks, and in that of its address.
    links: [Link; 2],
}

/// Neighbours in a list of free blocks.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// A list of free blocks, the one released first at the head.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

const ALL: usize = 0;
const OF_ADDRESS: usize = 1;
const NO_LIST: List = List { head: NIL, tail: NIL };

/// Which block a subscriber is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Any.
    Any,
    /// One of the external address with this index.
    OfAddress(u32),
    /// This one, which is nobody else's.
    Fixed(u32),
}

/// The external addresses and their blocks.
pub struct Pool {
    /// The addresses.
    pub ranges: Ranges,
    first_port: u16,
    block_size: u32,
    blocks_per_address: u32,
    /// The blocks of the first address, then those of the second, and so on.
    blocks: Vec<Block>,
    /// How many of the first blocks are fixed, and so never free for others.
    n_fixed: u32,
    free: List,
    free_of: Vec<List>,
    sets: Vec<PortSet>,
    spare_sets: Vec<u32>,
    shuffle: Shuffle,
    n_assigned: u32,
}

impl Pool {
    /// All blocks are free, but for the first `n_fixed`.
    pub fn new(
        ranges: Ranges,
        first_port: u16,
        block_size: u32,
        blocks_per_address: u32,
        n_fixed: u32,
    ) -> Pool {
        let n_addresses = ranges.len();
        let unlinked = Link { before: NIL, after: NIL };
        let block = Block {
            subscriber: NIL,
            next: NIL,
            n_mappings: 0,
            sets: [NIL; Protocol::ALL.len()],
            ready_s: 0,
            links: [unlinked; 2],
        };
        let mut pool = Pool {
            ranges,
            first_port,
            block_size,
            blocks_per_address,
            blocks: vec![block; n_addresses as usize * blocks_per_address as usize],
            n_fixed,
            free: NO_LIST,
            free_of: vec![NO_LIST; n_addresses as usize],
            sets: Vec::new(),
            spare_sets: Vec::new(),
            shuffle: Shuffle::default(),
            n_assigned: 0,
        };
        // Block by block, so that subscribers spread over the addresses.
        for number in 0..blocks_per_address {
            let blocks = (0..n_addresses).map(|address| address * blocks_per_address + number);
            blocks.filter(|block| *block >= n_fixed).for_each(|block| pool.add_free(block, 0));
        }
        pool
    }

    /// Lets ports of blocks be used in an order that hangs on a seed; 0: in ascending order.
    pub fn set_seed(&mut self, seed: u64) {
        self.shuffle = Shuffle(seed);
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Number of blocks that are somebody's.
    pub fn n_assigned(&self) -> u32 {
        self.n_assigned
    }

    /// A block.
    pub fn block(&self, idx: u32) -> Option<&Block> {
        self.blocks.get(idx as usize)
    }

    /// A block, to be changed.
    pub fn block_mut(&mut self, idx: u32) -> Option<&mut Block> {
        self.blocks.get_mut(idx as usize)
    }

    /// The blocks that are somebody's.
    pub fn assigned(&self) -> impl Iterator<Item = (u32, &Block)> {
        (0..).zip(&self.blocks).filter(|(_, block)| block.subscriber != NIL)
    }

    /// Index of the external address of a block.
    pub fn address_of(&self, block: u32) -> u32 {
        block.checked_div(self.blocks_per_address).unwrap_or(0)
    }

    /// The address, first port and last port of a block.
    pub fn range_of(&self, block: u32) -> (u32, u16, u16) {
        let number = block.checked_rem(self.blocks_per_address).unwrap_or(0);
        let first = u32::from(self.first_port) + number * self.block_size;
        let address = self.ranges.address(self.address_of(block));
        (address, first as u16, (first + self.block_size - 1) as u16)
    }

    /// Makes a block a subscriber's: of those that are free the one that was released first.
    pub fn assign(&mut self, choice: Choice, subscriber: u32, now_s: u32) -> Option<u32> {
        let idx = match choice {
            Choice::Any => self.free.head,
            Choice::OfAddress(address) => self.free_of.get(address as usize)?.head,
            Choice::Fixed(idx) => idx,
        };
        let is_free = |block: &&mut Block| block.ready_s <= now_s && block.subscriber == NIL;
        let block = self.blocks.get_mut(idx as usize).filter(is_free)?;
        (block.subscriber, block.next, block.n_mappings) = (subscriber, NIL, 0);
        if !self.is_fixed(idx) {
            self.remove_free(idx);
        }
        self.n_assigned += 1;
        Some(idx)
    }

    /// Frees a block, which may be assigned again from a second on.
    pub fn release(&mut self, idx: u32, ready_s: u32) {
        let Some(block) = self.blocks.get_mut(idx as usize).filter(|block| block.subscriber != NIL) else {
            return;
        };
        let sets = std::mem::replace(&mut block.sets, [NIL; Protocol::ALL.len()]);
        (block.subscriber, block.next) = (NIL, NIL);
        self.spare_sets.extend(sets.into_iter().filter(|set| *set != NIL));
        self.n_assigned = self.n_assigned.saturating_sub(1);
        if !self.is_fixed(idx) {
            self.add_free(idx, ready_s);
        }
    }

    /// Whether a block is one subscriber's for good.
    pub fn is_fixed(&self, idx: u32) -> bool {
        idx < self.n_fixed
    }

    /// Takes a port of a block for a mapping, as odd or even as `like` if possible.
    pub fn take_port(
        &mut self,
        block: u32,
        protocol: Protocol,
        like: Option<u16>,
        now_s: u32,
    ) -> Option<Endpoint> {
        let (address, first, _) = self.range_of(block);
        let set = self.set_of(block, protocol)?;
        let parity = like.map(|port| usize::from(port ^ first) & 1);
        let offset = self.sets.get_mut(set as usize)?.take(parity, now_s, NIL)?;
        self.blocks.get_mut(block as usize)?.n_mappings += 1;
        Some(Endpoint { address, port: (u32::from(first) + offset) as u16 })
    }

    /// Tells whose mapping a port is that was taken.
    pub fn set_mapping(&mut self, external: Endpoint, protocol: Protocol, mapping: u32) {
        if let Some((set, offset)) = self.place(external, protocol) {
            if let Some(set) = self.sets.get_mut(set as usize) {
                set.set_mapping(offset, mapping);
            }
        }
    }

    /// Frees a port, which may be taken again from a second on; tells how many mappings its block still has.
    pub fn release_port(
        &mut self,
        external: Endpoint,
        protocol: Protocol,
        ready_s: u32,
    ) -> Option<(u32, u32)> {
        let idx = self.block_at(external)?;
        let (set, offset) = self.place(external, protocol)?;
        self.sets.get_mut(set as usize)?.release(offset, ready_s);
        let block = self.blocks.get_mut(idx as usize)?;
        block.n_mappings = block.n_mappings.saturating_sub(1);
        Some((idx, block.n_mappings))
    }

    /// The block that an external endpoint is in.
    #[inline(always)]
    pub fn block_at(&self, external: Endpoint) -> Option<u32> {
        let address = self.ranges.index(external.address)?;
        let offset = u32::from(external.port.checked_sub(self.first_port)?);
        let number = offset / self.block_size;
        (number < self.blocks_per_address).then(|| address * self.blocks_per_address + number)
    }

    /// The place of an external endpoint, if its block is in use for the protocol.
    #[inline(always)]
    pub fn slot(&self, external: Endpoint, protocol: Protocol) -> Option<&Slot> {
        let (set, offset) = self.place(external, protocol)?;
        self.sets.get(set as usize)?.slot(offset)
    }

    /// The mapping of an external endpoint.
    #[inline(always)]
    pub fn mapping(&self, external: Endpoint, protocol: Protocol) -> Option<u32> {
        self.slot(external, protocol)?.mapping()
    }

    /// Ports of a block in use for a protocol.
    pub fn n_used(&self, block: &Block, protocol: Protocol) -> u32 {
        let set = block.sets[protocol as usize];
        self.sets.get(set as usize).filter(|_| set != NIL).map_or(0, PortSet::n_used)
    }

    #[inline(always)]
    fn place(&self, external: Endpoint, protocol: Protocol) -> Option<(u32, u32)> {
        let block = self.blocks.get(self.block_at(external)? as usize)?;
        let offset = u32::from(external.port - self.first_port) % self.block_size;
        Some((block.sets[protocol as usize], offset))
    }

    /// The ports of a block for a protocol, made if they are not there yet.
    fn set_of(&mut self, block: u32, protocol: Protocol) -> Option<u32> {
        let place = self.blocks.get_mut(block as usize)?.sets.get_mut(protocol as usize)?;
        if *place == NIL {
            *place = self.spare_sets.pop().unwrap_or_else(|| {
                self.sets.push(PortSet::default());
                self.sets.len() as u32 - 1
            });
            self.sets.get_mut(*place as usize)?.reset(self.block_size, &mut self.shuffle);
        }
        Some(*place)
    }

    fn list(&mut self, which: usize, idx: u32) -> Option<&mut List> {
        match which {
            ALL => Some(&mut self.free),
            _ => {
                let address = self.address_of(idx);
                self.free_of.get_mut(address as usize)
            }
        }
    }

    fn add_free(&mut self, idx: u32, ready_s: u32) {
        for which in [ALL, OF_ADDRESS] {
            let Some(list) = self.list(which, idx) else { return };
            let before = std::mem::replace(&mut list.tail, idx);
            if before == NIL {
                list.head = idx;
            }
            if let Some(block) = self.blocks.get_mut(before as usize) {
                block.links[which].after = idx;
            }
            if let Some(block) = self.blocks.get_mut(idx as usize) {
                block.links[which] = Link { before, after: NIL };
                block.ready_s = ready_s;
            }
        }
    }

    fn remove_free(&mut self, idx: u32) {
        for which in [ALL, OF_ADDRESS] {
            let Some(link) = self.blocks.get(idx as usize).map(|block| block.links[which]) else { return };
            match self.blocks.get_mut(link.before as usize) {
                Some(block) => block.links[which].after = link.after,
                None => self.list(which, idx).into_iter().for_each(|list| list.head = link.after),
            }
            match self.blocks.get_mut(link.after as usize) {
                Some(block) => block.links[which].before = link.before,
                None => self.list(which, idx).into_iter().for_each(|list| list.tail = link.before),
            }
        }
    }

    /// Lets ports be used in an order that hangs on the seed of another pool.
    pub fn take_order(&mut self, other: &Pool) {
        self.shuffle = other.shuffle;
    }

    /// Takes a certain port, whose block is a subscriber's, for a mapping; false if it is in use.
    pub fn take_this(&mut self, external: Endpoint, protocol: Protocol) -> bool {
        let Some(block) = self.block_at(external) else { return false };
        let Some(set) = self.set_of(block, protocol) else { return false };
        let offset = u32::from(external.port - self.first_port) % self.block_size;
        let is_taken = self.sets.get_mut(set as usize).is_some_and(|set| set.take_this(offset, NIL));
        if let Some(block) = self.blocks.get_mut(block as usize).filter(|_| is_taken) {
            block.n_mappings += 1;
        }
        is_taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(addresses: &str, block_size: u32, blocks_per_address: u32) -> Pool {
        let ranges = Ranges::parse(addresses, &args::Scope::builtin()).unwrap();
        Pool::new(ranges, 1024, block_size, blocks_per_address, 0)
    }

    #[test]
    fn first_blocks_spread_over_addresses_and_further_ones_stay_on_one() {
        let mut pool = pool("192.0.2.0/31", 16, 3);
        let of = |pool: &Pool, block: Option<u32>| {
            block.map(|block| pool.range_of(block).1 + 10_000 * pool.address_of(block) as u16)
        };
        let blocks = [
            (Choice::Any, 0),
            (Choice::Any, 1),
            (Choice::OfAddress(1), 1),
            (Choice::OfAddress(1), 1),
            (Choice::OfAddress(1), 1),
            (Choice::Any, 2),
            (Choice::Any, 2),
            (Choice::Any, 2),
        ];
        let assigned: Vec<_> = blocks.map(|(address, who)| pool.assign(address, who, 0)).to_vec();
        let places: Vec<_> = assigned.iter().map(|block| of(&pool, *block)).collect();
        assert_eq!(
            places,
            [Some(1024), Some(11_024), Some(11_040), Some(11_056), None, Some(1040), Some(1056), None]
        );
        assert_eq!(pool.n_assigned(), 6);
    }

    #[test]
    fn released_blocks_wait() {
        let mut pool = pool("192.0.2.0", 16, 2);
        let (first, second) =
            (pool.assign(Choice::Any, 0, 0).unwrap(), pool.assign(Choice::Any, 1, 0).unwrap());
        pool.release(first, 120);
        pool.release(first, 500);
        assert_eq!(pool.assign(Choice::Any, 2, 119), None);
        assert_eq!(pool.assign(Choice::OfAddress(0), 2, 120), Some(first));
        pool.release(second, 0);
        assert_eq!((pool.assign(Choice::Any, 3, 0), pool.assign(Choice::Any, 3, 0)), (Some(second), None));
    }

    #[test]
    fn ports_are_found_by_their_external_endpoint() {
        let mut pool = pool("192.0.2.0/31", 16, 2);
        let block = pool.assign(Choice::OfAddress(1), 7, 0).unwrap();
        let external = pool.take_port(block, Protocol::Udp, Some(5), 0).unwrap();
        assert_eq!(external.to_string(), "192.0.2.1:1025");
        pool.set_mapping(external, Protocol::Udp, 42);
        assert_eq!(pool.mapping(external, Protocol::Udp), Some(42));
        assert_eq!(pool.mapping(external, Protocol::Tcp), None);
        assert_eq!(pool.mapping(Endpoint { port: 1056, ..external }, Protocol::Udp), None);
        assert_eq!(pool.mapping(Endpoint { port: 1023, ..external }, Protocol::Udp), None);
        assert_eq!(pool.release_port(external, Protocol::Udp, 0), Some((block, 0)));
        assert_eq!(pool.mapping(external, Protocol::Udp), None);
    }
}
