//! Machines that swap working sets.

use proptest::prelude::*;
use satline_machine::configuration::{
    DeviceUnit, Machine, PageArea, PhysicalOrder, Prepage, Purpose, Role, SwapFaults, SwappingPlan,
};
use satline_machine::engine::Span;

use super::paging_load::device;

/// The prepage prototype [T87]: swap sets of eight pages.
pub fn prototype() -> SwappingPlan {
    SwappingPlan {
        set_pages: 8,
        minimum_working_set: 16,
        trim: true,
        logical: true,
        physical_order: PhysicalOrder::Q2First,
        prepage_interactive: Prepage::Sets(2),
        prepage_noninteractive: Prepage::Sets(0),
        swap_faults: SwapFaults::Set,
        set_page: Span::ZERO,
    }
}

/// One more disk, with an area of so many cylinders.
pub fn add_area(machine: &mut Machine, kind: &str, purpose: Purpose, cylinders: u32) {
    let number = machine.devices.len();
    let path = 100 + number as u16;
    machine.devices.push(DeviceUnit {
        name: format!("swap-{number}"),
        model: device(kind),
        role: Role::Paging,
        paths: vec![(path, path)],
    });
    machine.paging.areas.push(PageArea {
        device: number,
        first_cylinder: 50,
        cylinders,
        tier: 0,
        purpose,
    });
}

fn prepages() -> impl Strategy<Value = Prepage> {
    prop_oneof![(0..4_u32).prop_map(Prepage::Sets), Just(Prepage::All)]
}

prop_compose! {
    /// Every part on or off, whatever the others are.
    pub fn plans()(
        set_pages in 1..=32_u32,
        minimum_working_set in 0..40_u32,
        (trim, logical, by_page) in any::<(bool, bool, bool)>(),
        order in prop::sample::select(vec![PhysicalOrder::Q2First, PhysicalOrder::Fifo, PhysicalOrder::Q1First]),
        (prepage_interactive, prepage_noninteractive) in (prepages(), prepages()),
        page_us in 0..200_u64,
    ) -> SwappingPlan {
        SwappingPlan {
            set_pages, minimum_working_set, trim, logical, physical_order: order, prepage_interactive, prepage_noninteractive,
            swap_faults: if by_page { SwapFaults::Page } else { SwapFaults::Set },
            set_page: Span::from_ns(page_us * 1000),
        }
    }
}

/// Areas for sets: none, or up to three of a purpose, small ones too.
pub fn areas() -> impl Strategy<Value = Vec<(Purpose, u32)>> {
    let purpose = prop_oneof![Just(Purpose::Swap), Just(Purpose::Any)];
    prop::collection::vec((purpose, 1..20_u32), 0..4)
}
