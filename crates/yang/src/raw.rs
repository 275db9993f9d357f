//! What libyang has compiled and yang5 does not show.
//!
//! Everything that is read here belongs to the context of the node, module or type that is given, whose lifetime keeps it alive and
//! unchanged. libyang's arrays keep their length in the 8 bytes in front of their first element (`LY_ARRAY_COUNT`).

use std::ffi::{c_char, CStr};
use std::sync::atomic::AtomicU32;

use yang5::context::Context;
use yang5::data::{DataNodeRef, DataParserFlags, DataTree, DataValidationFlags};
use yang5::ffi;
use yang5::schema::{DataValueType, SchemaLeafType, SchemaModule, SchemaNode, SchemaNodeKind};
use yang5::utils::Binding;

use crate::data::Step;
use crate::node::{Base, Extension, Type};

/// What is parsed was valid: conditions (`when`) were true, and of a choice it is the older case.
pub const KNOWN_TO_BE_VALID: DataParserFlags =
    DataParserFlags::from_bits_retain(ffi::LYD_PARSE_WHEN_TRUE | ffi::LYD_PARSE_NO_NEW);

/// The extensions of a node.
pub fn extensions_of_node(node: &SchemaNode<'_>) -> Vec<Extension> {
    // SAFETY: the node's memory is valid while `node` lives, and `exts` is an array of libyang's, or null.
    unsafe { extensions((*node.as_raw()).exts) }
}

/// The extensions of a module.
pub fn extensions_of_module(module: &SchemaModule<'_>) -> Vec<Extension> {
    // SAFETY: the module's memory is valid while `module` lives; `compiled` is null for modules that are only imported.
    unsafe {
        let compiled = (*module.as_raw()).compiled;
        if compiled.is_null() {
            return Vec::new();
        }
        extensions((*compiled).exts)
    }
}

/// What the values of a leaf are.
pub fn type_of(ty: &SchemaLeafType<'_>) -> Type {
    // SAFETY: the type's memory is valid while `ty` lives.
    unsafe { read_type(ty.as_raw()) }
}

/// Does something of which libyang keeps all that it complains about, not the last alone; the complaints if it fails. Each has its
/// line, where libyang knows it, and its sentence with the path of what it is about.
pub fn with_complaints<T, E>(
    context: &Context,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, Vec<(Option<u64>, String)>> {
    static KEEP_ALL: AtomicU32 = AtomicU32::new(ffi::LY_LOSTORE);
    // SAFETY: libyang reads the options of this thread through the pointer, which stays valid.
    unsafe { ffi::ly_temp_log_options(KEEP_ALL.as_ptr()) };
    let result = work();
    // SAFETY: null stands for the options of all threads.
    unsafe { ffi::ly_temp_log_options(std::ptr::null_mut()) };
    result.map_err(|_| {
        let Some(any) = context.modules(false).next() else { return Vec::new() };
        let mut list = Vec::new();
        // SAFETY: a module knows its context; items are this thread's, linked by `next`, and live until the context's next error.
        unsafe {
            let mut item = ffi::ly_err_first((*any.as_raw()).ctx);
            while let Some(one) = item.as_ref() {
                let (path, message) = (text(one.schema_path), text(one.msg));
                let told = if path.is_empty() { message } else { format!("{path}: {message}") };
                list.push(((one.line > 0).then_some(one.line), told));
                item = one.next;
            }
        }
        list
    })
}

/// Validates data, of which libyang removes what has no place beside the rest any more: the ways to that.
pub fn validate<'c>(
    context: &'c Context,
    tree: &mut DataTree<'c>,
    flags: DataValidationFlags,
) -> Result<Vec<Vec<Step>>, yang5::Error> {
    let Some(any) = context.modules(false).next() else { return tree.validate(flags).map(|()| Vec::new()) };
    let mut top = std::mem::replace(tree, DataTree::new(context)).into_raw();
    let mut changes = std::ptr::null_mut();
    // SAFETY: a module knows its context, which is that of the data; both trees are owned here, and by the values that are made of
    // them at once. Null is a tree without nodes.
    let (code, changes) = unsafe {
        let code = ffi::lyd_validate_all(&mut top, (*any.as_raw()).ctx, flags.bits(), &mut changes);
        *tree = DataTree::from_raw(context, top);
        (code, DataTree::from_raw(context, ffi::lyd_first_sibling(changes)))
    };
    if code != ffi::LY_ERR::LY_SUCCESS {
        return Err(yang5::Error::new(context));
    }
    let is_deleted =
        |node: &DataNodeRef<'_>| node.meta().any(|one| (one.name(), one.value()) == ("operation", "delete"));
    // What is there by default comes and goes as others do.
    // SAFETY: the node's memory is valid while `changes` lives.
    let was_given = |node: &DataNodeRef<'_>| unsafe { (*node.as_raw()).flags } & ffi::LYD_DEFAULT == 0;
    // What one of them held has gone with it; libyang tells of that only sometimes.
    let is_within = |node: &DataNodeRef<'_>| node.ancestors().any(|above| is_deleted(&above));
    let gone = changes.traverse().filter(|node| is_deleted(node) && was_given(node) && !is_within(node));
    Ok(gone.map(|node| steps(&node)).collect())
}

/// The way to a node.
fn steps(node: &DataNodeRef<'_>) -> Vec<Step> {
    let step = |node: DataNodeRef<'_>| {
        let keys = match node.schema().kind() {
            SchemaNodeKind::List => node.list_keys().filter_map(|key| key.value_canonical()).collect(),
            SchemaNodeKind::LeafList => node.value_canonical().into_iter().collect(),
            _ => Vec::new(),
        };
        (node.owner_module().name().to_string(), node.schema().name().to_string(), keys)
    };
    let mut steps: Vec<Step> = node.inclusive_ancestors().map(step).collect();
    steps.reverse();
    steps
}

/// The elements of an array.
///
/// # Safety
/// `array` is null or an array of libyang's whose elements are of type `T` and live as long as the result.
unsafe fn elements<'a, T>(array: *const T) -> &'a [T] {
    if array.is_null() {
        return &[];
    }
    // SAFETY: the length stands in front of the elements; both are aligned to 8 bytes, as libyang allocates them.
    unsafe {
        let len = *array.cast::<u64>().sub(1);
        std::slice::from_raw_parts(array, len as usize)
    }
}

/// # Safety
/// `text` is null or a null-terminated string.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as promised by the caller.
    unsafe { CStr::from_ptr(text).to_string_lossy().into_owned() }
}

/// # Safety
/// `array` is null or an array of compiled extension instances.
unsafe fn extensions(array: *const ffi::lysc_ext_instance) -> Vec<Extension> {
    // SAFETY: as promised by the caller; each instance has a definition with a name.
    unsafe {
        let one = |instance: &ffi::lysc_ext_instance| Extension {
            name: text((*instance.def).name),
            argument: text(instance.argument),
        };
        elements(array).iter().map(one).collect()
    }
}

/// # Safety
/// `raw` is a compiled type.
unsafe fn read_type(raw: *const ffi::lysc_type) -> Type {
    // SAFETY: the base type says which structure `raw` is the beginning of (`tree_schema.h`).
    unsafe {
        let base = base_of((*raw).basetype);
        let is_signed = {
            use ffi::LY_DATA_TYPE as t;
            matches!(
                (*raw).basetype,
                t::LY_TYPE_INT8 | t::LY_TYPE_INT16 | t::LY_TYPE_INT32 | t::LY_TYPE_INT64 | t::LY_TYPE_DEC64
            )
        };
        let typedef = text((*raw).name);
        let mut ty = Type {
            base,
            typedef: (!typedef.is_empty()).then_some(typedef),
            words: Vec::new(),
            range: Vec::new(),
            holds: bounds_of((*raw).basetype),
            patterns: Vec::new(),
            members: Vec::new(),
        };
        match base {
            Base::Enumeration | Base::Bits => {
                let items = elements((*raw.cast::<ffi::lysc_type_enum>()).enums);
                ty.words = items.iter().map(|item| text(item.name)).collect();
            }
            Base::Integer | Base::BigInteger => {
                ty.range = ranges((*raw.cast::<ffi::lysc_type_num>()).range, is_signed);
            }
            Base::String => {
                let string = raw.cast::<ffi::lysc_type_str>();
                ty.range = ranges((*string).length, false);
                let pattern = |one: &*mut ffi::lysc_pattern| (text((**one).expr), (**one).inverted() != 0);
                ty.patterns = elements((*string).patterns).iter().map(pattern).collect();
            }
            Base::Union => {
                let types = elements((*raw.cast::<ffi::lysc_type_union>()).types);
                ty.members = types.iter().map(|member| read_type(*member)).collect();
            }
            Base::Reference => ty.members = vec![read_type((*raw.cast::<ffi::lysc_type_leafref>()).realtype)],
            _ => {}
        }
        ty
    }
}

/// What a built-in integer can hold (RFC 7950, section 9.2).
fn bounds_of(number: ffi::LY_DATA_TYPE::Type) -> Option<(i128, i128)> {
    use ffi::LY_DATA_TYPE as t;
    Some(match number {
        t::LY_TYPE_INT8 => (i8::MIN.into(), i8::MAX.into()),
        t::LY_TYPE_INT16 => (i16::MIN.into(), i16::MAX.into()),
        t::LY_TYPE_INT32 => (i32::MIN.into(), i32::MAX.into()),
        t::LY_TYPE_INT64 => (i64::MIN.into(), i64::MAX.into()),
        t::LY_TYPE_UINT8 => (0, u8::MAX.into()),
        t::LY_TYPE_UINT16 => (0, u16::MAX.into()),
        t::LY_TYPE_UINT32 => (0, u32::MAX.into()),
        t::LY_TYPE_UINT64 => (0, u64::MAX.into()),
        _ => return None,
    })
}

fn base_of(number: ffi::LY_DATA_TYPE::Type) -> Base {
    use DataValueType as D;
    const KNOWN: [D; 19] = [
        D::Binary,
        D::Uint8,
        D::Uint16,
        D::Uint32,
        D::Uint64,
        D::String,
        D::Bits,
        D::Bool,
        D::Dec64,
        D::Empty,
        D::Enum,
        D::IdentityRef,
        D::InstanceId,
        D::LeafRef,
        D::Union,
        D::Int8,
        D::Int16,
        D::Int32,
        D::Int64,
    ];
    let known = KNOWN.into_iter().find(|known| *known as u32 == number);
    Base::of(known.unwrap_or(D::Unknown))
}

/// # Safety
/// `range` is null or a compiled range.
unsafe fn ranges(range: *const ffi::lysc_range, is_signed: bool) -> Vec<(i128, i128)> {
    if range.is_null() {
        return Vec::new();
    }
    // SAFETY: as promised by the caller; which member of the unions is set depends on the type's sign alone.
    unsafe {
        let bounds = |part: &ffi::lysc_range_lysc_range_part| match is_signed {
            true => (part.__bindgen_anon_1.min_64.into(), part.__bindgen_anon_2.max_64.into()),
            false => (part.__bindgen_anon_1.min_u64.into(), part.__bindgen_anon_2.max_u64.into()),
        };
        elements((*range).parts).iter().map(bounds).collect()
    }
}
