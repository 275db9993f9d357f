//! Nodes of schemas, as plain values.

use yang5::schema::{DataValueType, SchemaModule, SchemaNode, SchemaNodeKind};

use crate::raw;

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its prefix.
    pub prefix: String,
    /// Its latest revision, a date.
    pub revision: Option<String>,
    /// What it describes.
    pub description: String,
    /// Its top-level data nodes.
    pub nodes: Vec<Node>,
    /// Its RPCs.
    pub rpcs: Vec<Node>,
    /// Its notifications.
    pub notifications: Vec<Node>,
    /// Extensions of the module itself.
    pub extensions: Vec<Extension>,
    /// Its text.
    pub text: String,
}

/// A statement that an extension defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The extension's name, without a prefix.
    pub name: String,
    /// Its argument.
    pub argument: String,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Holds nodes. With `presence` it means something by being there.
    Container { is_presence: bool },
    /// Entries with keys.
    List,
    /// A value.
    Leaf,
    /// Several values.
    LeafList,
    /// One of its cases.
    Choice,
    /// A case of a choice.
    Case,
    /// An operation of a node, or of the module.
    Action,
    /// What an operation is given.
    Input,
    /// What an operation gives.
    Output,
    /// News.
    Notification,
    /// Data without a schema.
    Any,
}

/// A node of a schema.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The module whose node it is.
    pub module: String,
    /// What it is.
    pub kind: Kind,
    /// Whether users write it; else it is state.
    pub is_config: bool,
    /// Whether it must be there.
    pub is_mandatory: bool,
    /// Whether users decide on the order of its entries.
    pub is_user_ordered: bool,
    /// What it is for.
    pub description: String,
    /// The unit of its values.
    pub units: Option<String>,
    /// Its value if none is given.
    pub default: Option<String>,
    /// The names of a list's keys.
    pub keys: Vec<String>,
    /// What its values are.
    pub ty: Option<Type>,
    /// Fewest entries.
    pub min_elements: Option<u32>,
    /// Most entries.
    pub max_elements: Option<u32>,
    /// What extensions say of it.
    pub extensions: Vec<Extension>,
    /// The nodes that it holds, actions at the end.
    pub children: Vec<Node>,
}

/// What a leaf's values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The built-in type.
    pub base: Base,
    /// The name of the definition that it comes from, without a prefix.
    pub typedef: Option<String>,
    /// The words of an enumeration.
    pub words: Vec<String>,
    /// Bounds of numbers or lengths: least and most.
    pub range: Vec<(i128, i128)>,
    /// What an integer's built-in type can hold.
    pub holds: Option<(i128, i128)>,
    /// Expressions that texts must match, unless the second is true.
    pub patterns: Vec<(String, bool)>,
    /// The members of a union; what a reference leads to.
    pub members: Vec<Type>,
}

/// The built-in types (RFC 7950, section 9), as far as they differ in data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// An integer of at most 32 bits, a number in JSON.
    Integer,
    /// A 64-bit integer, a string in JSON (RFC 7951).
    BigInteger,
    /// A decimal number, a string in JSON.
    Decimal,
    /// Text.
    String,
    /// `true` or `false`.
    Boolean,
    /// One of some words.
    Enumeration,
    /// Some words.
    Bits,
    /// Bytes.
    Binary,
    /// Nothing: it is there or not, `[null]` in JSON.
    Empty,
    /// A name of an identity.
    Identity,
    /// A path to a node.
    Instance,
    /// A value of another leaf.
    Reference,
    /// Of one of several types.
    Union,
}

impl Module {
    pub(crate) fn of(module: &SchemaModule<'_>, text: &str) -> Module {
        Module {
            name: module.name().to_string(),
            namespace: module.namespace().to_string(),
            prefix: module.prefix().to_string(),
            revision: module.revision().map(str::to_string),
            description: text_of(module.description()),
            nodes: module.data().map(|node| Node::of(&node)).collect(),
            rpcs: module.rpcs().map(|node| Node::of(&node)).collect(),
            notifications: module.notifications().map(|node| Node::of(&node)).collect(),
            extensions: raw::extensions_of_module(module),
            text: text.to_string(),
        }
    }

    /// The argument of the module's extension of this name.
    pub fn extension(&self, name: &str) -> Option<&str> {
        self.extensions.iter().find(|one| one.name == name).map(|one| one.argument.as_str())
    }
}

impl Node {
    fn of(node: &SchemaNode<'_>) -> Node {
        let kind = kind_of(node);
        let children = node.children().chain(node.actions()).chain(node.notifications());
        let mut children: Vec<Node> = children.map(|child| Node::of(&child)).collect();
        if kind == Kind::Action {
            let input = node.input().map(|(nodes, _)| part(node, Kind::Input, nodes));
            let output = node.output().map(|(nodes, _)| part(node, Kind::Output, nodes));
            children = input.into_iter().chain(output).collect();
        }
        Node {
            name: node.name().to_string(),
            module: node.module().name().to_string(),
            kind,
            is_config: node.is_config(),
            is_mandatory: node.is_mandatory(),
            is_user_ordered: node.is_user_ordered(),
            description: text_of(node.description()),
            units: node.units().map(str::to_string),
            default: default_of(node, kind),
            keys: match kind {
                Kind::List => node.list_keys().map(|key| key.name().to_string()).collect(),
                _ => Vec::new(),
            },
            ty: node.leaf_type().map(|ty| raw::type_of(&ty)),
            min_elements: node.min_elements(),
            max_elements: node.max_elements(),
            extensions: raw::extensions_of_node(node),
            children,
        }
    }

    /// The child of this name; choices and cases are looked through.
    pub fn child(&self, name: &str) -> Option<&Node> {
        self.data_children().find(|child| child.name == name)
    }

    /// The nodes that stand below this one in data: choices and cases are looked through.
    pub fn data_children(&self) -> Box<dyn Iterator<Item = &Node> + '_> {
        Box::new(self.children.iter().flat_map(|child| -> Box<dyn Iterator<Item = &Node> + '_> {
            match child.kind {
                Kind::Choice | Kind::Case => child.data_children(),
                _ => Box::new(std::iter::once(child)),
            }
        }))
    }

    /// The argument of this node's first extension of this name.
    pub fn extension(&self, name: &str) -> Option<&str> {
        self.extensions.iter().find(|one| one.name == name).map(|one| one.argument.as_str())
    }

    /// The arguments of all this node's extensions of this name.
    pub fn all_extensions<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n str> {
        self.extensions.iter().filter(move |one| one.name == name).map(|one| one.argument.as_str())
    }

    /// Whether it has an extension of this name.
    pub fn has(&self, name: &str) -> bool {
        self.extension(name).is_some()
    }
}

/// What an operation is given or gives.
fn part<'a>(node: &SchemaNode<'_>, kind: Kind, nodes: impl Iterator<Item = SchemaNode<'a>>) -> Node {
    Node {
        name: if kind == Kind::Input { "input" } else { "output" }.to_string(),
        module: node.module().name().to_string(),
        kind,
        is_config: false,
        is_mandatory: false,
        is_user_ordered: false,
        description: String::new(),
        units: None,
        default: None,
        keys: Vec::new(),
        ty: None,
        min_elements: None,
        max_elements: None,
        extensions: Vec::new(),
        children: nodes.map(|child| Node::of(&child)).collect(),
    }
}

fn kind_of(node: &SchemaNode<'_>) -> Kind {
    match node.kind() {
        SchemaNodeKind::Container => Kind::Container { is_presence: !node.is_np_container() },
        SchemaNodeKind::List => Kind::List,
        SchemaNodeKind::Leaf => Kind::Leaf,
        SchemaNodeKind::LeafList => Kind::LeafList,
        SchemaNodeKind::Choice => Kind::Choice,
        SchemaNodeKind::Case => Kind::Case,
        SchemaNodeKind::Rpc | SchemaNodeKind::Action => Kind::Action,
        SchemaNodeKind::Input => Kind::Input,
        SchemaNodeKind::Output => Kind::Output,
        SchemaNodeKind::Notification => Kind::Notification,
        SchemaNodeKind::AnyData | SchemaNodeKind::AnyXml => Kind::Any,
    }
}

fn default_of(node: &SchemaNode<'_>, kind: Kind) -> Option<String> {
    match kind {
        Kind::Leaf if node.has_default() => node.default_value_canonical().ok().flatten(),
        _ => None,
    }
}

fn text_of(text: Option<&str>) -> String {
    text.unwrap_or_default().to_string()
}

impl Base {
    pub(crate) fn of(ty: DataValueType) -> Base {
        match ty {
            DataValueType::Int8
            | DataValueType::Int16
            | DataValueType::Int32
            | DataValueType::Uint8
            | DataValueType::Uint16
            | DataValueType::Uint32 => Base::Integer,
            DataValueType::Int64 | DataValueType::Uint64 => Base::BigInteger,
            DataValueType::Dec64 => Base::Decimal,
            DataValueType::Bool => Base::Boolean,
            DataValueType::Enum => Base::Enumeration,
            DataValueType::Bits => Base::Bits,
            DataValueType::Binary => Base::Binary,
            DataValueType::Empty => Base::Empty,
            DataValueType::IdentityRef => Base::Identity,
            DataValueType::InstanceId => Base::Instance,
            DataValueType::LeafRef => Base::Reference,
            DataValueType::Union => Base::Union,
            _ => Base::String,
        }
    }
}
