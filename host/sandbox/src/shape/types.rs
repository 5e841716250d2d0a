//! The expanded size of the types of a component.

use std::collections::HashMap;

use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentDefinedType, ComponentDefinedTypeId, ComponentEntityType,
    ComponentFuncTypeId, ComponentInstanceTypeId, ComponentTypeId, ComponentValType,
};
use wasmparser::types::{TypeIdentifier, TypesRef};

/// The number of values in all definitions and functions of a component.
pub(super) fn size(types: TypesRef<'_>) -> u64 {
    let mut sizes = Sizes { types, known: HashMap::new() };
    let defined = (0..types.component_type_count()).map(|index| types.component_any_type_at(index));
    let functions = (0..types.component_function_count()).map(|index| types.component_function_at(index));
    let defined = defined.fold(0, |sum: u64, id| sum.saturating_add(sizes.any(id)));
    functions.fold(defined, |sum, id| sum.saturating_add(sizes.any(ComponentAnyTypeId::Func(id))))
}

struct Sizes<'a> {
    types: TypesRef<'a>,
    /// Sizes found so far: each definition is visited once.
    known: HashMap<ComponentAnyTypeId, u64>,
}

/// The validator has checked the nesting depth, so recursion is safe.
impl Sizes<'_> {
    fn any(&mut self, id: ComponentAnyTypeId) -> u64 {
        if let Some(size) = self.known.get(&id) {
            return *size;
        }
        let size = match id {
            ComponentAnyTypeId::Resource(_) => 1,
            ComponentAnyTypeId::Defined(id) => self.defined(id),
            ComponentAnyTypeId::Func(id) => self.function(id),
            ComponentAnyTypeId::Instance(id) => self.instance(id),
            ComponentAnyTypeId::Component(id) => self.component(id),
        };
        self.known.insert(id, size);
        size
    }

    fn defined(&mut self, id: ComponentDefinedTypeId) -> u64 {
        match definition(self.types, id) {
            ComponentDefinedType::Record(record) => self.sum(record.fields.values().copied()),
            ComponentDefinedType::Variant(variant) => {
                let cases = variant.cases.len() as u64;
                self.sum(variant.cases.values().filter_map(|case| case.ty)).saturating_add(cases)
            }
            ComponentDefinedType::Tuple(tuple) => self.sum(tuple.types.iter().copied()),
            // The type is expanded, and values are passed, element by element.
            ComponentDefinedType::FixedLengthList { element, length, .. } => {
                self.value(*element).saturating_mul((*length).into())
            }
            ComponentDefinedType::Flags(names) | ComponentDefinedType::Enum(names) => names.len() as u64,
            ComponentDefinedType::List { element, .. } => self.sum([*element]),
            ComponentDefinedType::Map { key, value, .. } => self.sum([*key, *value]),
            ComponentDefinedType::Option { ty, .. } => self.sum([*ty]),
            ComponentDefinedType::Result { ok, err, .. } => self.sum([*ok, *err].into_iter().flatten()),
            ComponentDefinedType::Future { ty, .. } | ComponentDefinedType::Stream { ty, .. } => {
                self.sum(*ty)
            }
            ComponentDefinedType::Primitive(_)
            | ComponentDefinedType::Own(_)
            | ComponentDefinedType::Borrow(_) => 1,
        }
    }

    fn function(&mut self, id: ComponentFuncTypeId) -> u64 {
        let function = definition(self.types, id);
        self.sum(function.params.iter().map(|(_, ty)| *ty).chain(function.result))
    }

    fn instance(&mut self, id: ComponentInstanceTypeId) -> u64 {
        let instance = definition(self.types, id);
        self.entities(instance.exports.values().map(|item| item.ty))
    }

    fn component(&mut self, id: ComponentTypeId) -> u64 {
        let component = definition(self.types, id);
        self.entities(component.imports.values().chain(component.exports.values()).map(|item| item.ty))
    }

    fn entities(&mut self, entities: impl Iterator<Item = ComponentEntityType>) -> u64 {
        entities.fold(1, |sum: u64, entity| {
            sum.saturating_add(match entity {
                ComponentEntityType::Module(_) => 1,
                ComponentEntityType::Func(id) => self.any(ComponentAnyTypeId::Func(id)),
                ComponentEntityType::Value(ty) => self.value(ty),
                ComponentEntityType::Type { created, .. } => self.any(created),
                ComponentEntityType::Instance(id) => self.any(ComponentAnyTypeId::Instance(id)),
                ComponentEntityType::Component(id) => self.any(ComponentAnyTypeId::Component(id)),
            })
        })
    }

    fn sum(&mut self, values: impl IntoIterator<Item = ComponentValType>) -> u64 {
        values.into_iter().fold(1, |sum: u64, ty| sum.saturating_add(self.value(ty)))
    }

    fn value(&mut self, ty: ComponentValType) -> u64 {
        match ty {
            ComponentValType::Primitive(_) => 1,
            ComponentValType::Type(id) => self.any(ComponentAnyTypeId::Defined(id)),
        }
    }
}

fn definition<T: TypeIdentifier>(types: TypesRef<'_>, id: T) -> &T::Data {
    types.get(id).expect("the id is one of these types")
}
