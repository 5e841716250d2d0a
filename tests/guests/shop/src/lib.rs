//! Has rows to page through, to join and to filter: 500 orders, 40 customers and 200 reviews, always the same.

use guest_support::serde_json::{Value, json};
use guest_support::{
    Invocation, Outcome, ToolDefinition, ToolkitDefinition, arguments, definition, structured, tool,
};

guest_support::toolkit!(describe, call);

const ORDERS: usize = 500;
const CUSTOMERS: usize = 40;
const REVIEWS: usize = 200;
const PAGE: usize = 50;
const CITIES: [&str; 4] = ["Oslo", "Bergen", "Lyon", "Porto"];
const COUNTRIES: [&str; 3] = ["Norway", "France", "Portugal"];

fn describe() -> ToolkitDefinition {
    let number = json!({ "type": "integer", "minimum": 0 });
    let of = |name: &str, text: &str, argument: &str, result: Value| ToolDefinition {
        input_schema: json!({
            "type": "object", "properties": { argument: number }, "required": [argument], "additionalProperties": false,
        }),
        output_schema: Some(json!({ "type": "object", "properties": result })),
        ..tool(name, text)
    };
    let text = json!({ "type": "string" });
    let order = json!({ "type": "object", "properties": { "id": number, "customer": number, "city": text, "total": number } });
    let review = json!({ "type": "object", "properties": { "id": number, "order": number, "text": text } });
    let orders =
        json!({ "orders": { "type": "array", "items": order }, "next": { "type": ["integer", "null"] } });
    let reviews =
        json!({ "reviews": { "type": "array", "items": review }, "next": { "type": ["integer", "null"] } });
    definition(
        "shop",
        vec![
            of("orders", "Lists orders, 50 a page.", "page", orders),
            of(
                "customer",
                "Returns one customer.",
                "id",
                json!({ "id": number, "name": text, "country": text }),
            ),
            of("reviews", "Lists reviews, 50 a page.", "page", reviews),
        ],
    )
}

fn call(invocation: &Invocation) -> Outcome {
    let arguments = arguments(invocation);
    let number =
        |name: &str| arguments[name].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or_default();
    let rows = |all: usize, row: fn(usize) -> Value| -> Vec<Value> {
        let from = number("page") * PAGE;
        (from..(from + PAGE).min(all)).map(row).collect()
    };
    let next = |all: usize| Some(number("page") + 1).filter(|next| next * PAGE < all);
    structured(&match invocation.tool.as_str() {
        "orders" => json!({ "orders": rows(ORDERS, order), "next": next(ORDERS) }),
        "reviews" => json!({ "reviews": rows(REVIEWS, review), "next": next(REVIEWS) }),
        _ => customer(number("id")),
    })
}

fn order(id: usize) -> Value {
    json!({ "id": id, "customer": id * 7 % CUSTOMERS, "city": CITIES[id * 3 % 4], "total": id * 7919 % 1000 })
}

fn customer(id: usize) -> Value {
    json!({ "id": id, "name": format!("Customer {id}"), "country": COUNTRIES[id % 3] })
}

fn review(id: usize) -> Value {
    let text = if id.is_multiple_of(9) {
        "The lid was broken when it came, and nobody answered my letter about it for two weeks."
    } else {
        "It does what it says, came on the day that was promised, and looks as it does in the pictures."
    };
    json!({ "id": id, "order": id * 2, "text": text })
}
