//! Costs with and without code mode. For tasks of several calls: bytes that pass through the model, number of
//! calls, and time. For listings: bytes in each mode.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{CODE_MODE, with_code};
use crate::harness::{Kitbag, User, Wat, guests};

/// Cost of a task: calls, bytes through the model, time of the calls.
#[derive(Debug, Default)]
struct Cost {
    calls: usize,
    bytes: usize,
    time: Duration,
}

/// Model that calls tools directly, reads each result, and computes the answer itself.
struct Directly<'a> {
    user: &'a User,
    cost: Cost,
}

impl Directly<'_> {
    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.cost.calls += 1;
        self.cost.bytes += arguments.to_string().len();
        let began = Instant::now();
        let outcome = self.user.call(tool, arguments).await;
        self.cost.time += began.elapsed();
        // Counted once: clients give a model either the text or the structured result, which are equivalent.
        self.cost.bytes += outcome.text().len();
        outcome.structured().clone()
    }

    async fn pages(&mut self, tool: &str, member: &str) -> Vec<Value> {
        let (mut all, mut page) = (Vec::new(), json!(0));
        while !page.is_null() {
            let answer = self.call(tool, json!({ "page": page })).await;
            all.extend(answer[member].as_array().expect("rows").clone());
            page = answer["next"].clone();
        }
        all
    }
}

const PAGES: &str = "const pages = async (tool, member) => { const all = []; let page = 0; while (page !== null) { \
                     const answer = await tool({ page }); all.push(...answer[member]); page = answer.next; } return all; };\n";

/// Name and code of each task.
const TASKS: [(&str, &str); 5] = [
    (
        "count orders to Oslo among 500 rows",
        "return (await pages(tools.shop.orders, 'orders')).filter((it) => it.city === 'Oslo').length",
    ),
    (
        "sum the first page's orders by country of the customer (a join)",
        "const { orders } = await tools.shop.orders({ page: 0 }); const sums = {}; const known = {};\n\
         for (const id of new Set(orders.map((it) => it.customer))) known[id] = await tools.shop.customer({ id });\n\
         for (const it of orders) { const { country } = known[it.customer]; sums[country] = (sums[country] ?? 0) + it.total; }\n\
         return sums",
    ),
    (
        "ids of reviews that complain, of 200",
        "return (await pages(tools.shop.reviews, 'reviews')).filter((it) => it.text.includes('broken')).map((it) => it.id)",
    ),
    (
        "the three largest orders of 500",
        "return (await pages(tools.shop.orders, 'orders')).sort((a, b) => b.total - a.total || a.id - b.id).slice(0, 3).map((it) => it.id)",
    ),
    (
        "the name behind the newest complaint (a chain)",
        "const all = await pages(tools.shop.reviews, 'reviews'); const { order } = all.filter((it) => it.text.includes('broken')).at(-1);\n\
         const { customer } = (await pages(tools.shop.orders, 'orders')).find((it) => it.id === order);\n\
         return (await tools.shop.customer({ id: customer })).name",
    ),
];

async fn directly(user: &User, task: usize) -> (Value, Cost) {
    let mut model = Directly { user, cost: Cost::default() };
    let is_complaint = |it: &&Value| it["text"].as_str().is_some_and(|text| text.contains("broken"));
    let answer = match task {
        0 => {
            let orders = model.pages("shop__orders", "orders").await;
            json!(orders.iter().filter(|it| it["city"] == "Oslo").count())
        }
        1 => {
            let orders = model.call("shop__orders", json!({ "page": 0 })).await;
            let (mut sums, mut known) = (serde_json::Map::new(), HashMap::new());
            for order in orders["orders"].as_array().expect("rows") {
                let id = order["customer"].as_u64().expect("an id");
                if let Entry::Vacant(unknown) = known.entry(id) {
                    unknown.insert(model.call("shop__customer", json!({ "id": id })).await);
                }
                let country = known[&id]["country"].as_str().expect("a name").to_owned();
                let sum = sums.entry(country).or_insert(json!(0));
                *sum = json!(sum.as_u64().unwrap_or_default() + order["total"].as_u64().unwrap_or_default());
            }
            Value::Object(sums)
        }
        2 => {
            let reviews = model.pages("shop__reviews", "reviews").await;
            reviews.iter().filter(is_complaint).map(|it| it["id"].clone()).collect()
        }
        3 => {
            let mut orders = model.pages("shop__orders", "orders").await;
            orders.sort_by_key(|it| (std::cmp::Reverse(it["total"].as_u64()), it["id"].as_u64()));
            orders.iter().take(3).map(|it| it["id"].clone()).collect()
        }
        _ => {
            let reviews = model.pages("shop__reviews", "reviews").await;
            let order = reviews.iter().rfind(is_complaint).expect("one complains")["order"].clone();
            let orders = model.pages("shop__orders", "orders").await;
            let order = orders.iter().find(|it| it["id"] == order).expect("it is there").clone();
            model.call("shop__customer", json!({ "id": order["customer"] })).await["name"].clone()
        }
    };
    (answer, model.cost)
}

#[tokio::test]
async fn code_takes_a_tenth_of_the_bytes_through_the_model_for_tasks_of_several_calls() {
    let kitbag = Kitbag::start_with(with_code).await;
    kitbag.deploy(guests::SHOP).await;
    let (ana, in_mode) = (kitbag.as_user("ana"), kitbag.as_user("ana").at(CODE_MODE));
    in_mode.run_code("return 0").await.text();

    println!("| task | directly: calls, bytes, ms | by code: calls, bytes, ms |\n|---|---|---|");
    let (mut bytes_directly, mut bytes_by_code) = (0, 0);
    for (index, (task, code)) in TASKS.into_iter().enumerate() {
        let (expected, cost) = directly(&ana, index).await;
        let code = format!("{PAGES}{code}");
        let began = Instant::now();
        let answer = in_mode.run_code(&code).await;
        let time = began.elapsed();
        let text = answer.text();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into()), expected, "{task}");
        let bytes = json!({ "code": code }).to_string().len() + text.len();
        println!(
            "| {task} | {}, {}, {} | 1, {bytes}, {} |",
            cost.calls,
            cost.bytes,
            cost.time.as_millis(),
            time.as_millis()
        );
        bytes_directly += cost.bytes;
        bytes_by_code += bytes;
    }
    assert!(10 * bytes_by_code < bytes_directly, "{bytes_by_code} of {bytes_directly}");
}

/// Creates a toolkit with `tools` tools like those of public APIs.
fn toolkit(id: usize, tools: usize) -> Vec<u8> {
    let tool = |number: usize| {
        json!({
            "name": format!("list_things_{number}"),
            "description": "Lists things of a project that match a filter, newest first. Use it to see what has changed lately, and get_thing for one of them.",
            "inputSchema": {
                "type": "object", "required": ["project"],
                "properties": {
                    "project": { "type": "string", "description": "Id of the project, as list_projects returns it." },
                    "state": { "type": "string", "enum": ["open", "closed", "all"], "description": "Only things in this state." },
                    "page": { "type": "integer", "minimum": 1, "description": "Which page, of 50 things." },
                },
            },
        })
    };
    let manifest = json!({
        "id": format!("service-{id}"), "name": format!("Service {id}"), "description": "A guest.", "icon": "🧪",
        "version": "1.0.0", "visibility": "shared", "tools": (0..tools).map(tool).collect::<Vec<_>>(),
    });
    Wat { manifest: &manifest.to_string(), ..Wat::default() }.component()
}

#[tokio::test]
async fn a_listing_costs_the_same_in_a_mode_however_many_tools_there_are() {
    let kitbag = Kitbag::start_with(with_code).await;
    let operator = kitbag.as_operator();
    let mut deployed = 0;

    println!("| tools | listed | `mode=search` | `mode=code` |\n|---|---|---|---|");
    for wanted in [10, 150, 1_000] {
        while deployed < wanted {
            let tools = (wanted - deployed).min(25);
            operator.deploy(toolkit(deployed, tools)).await.assert_status(201);
            deployed += tools;
        }
        let mut bytes = Vec::new();
        for endpoint in ["/mcp?toolkits=", "/mcp?mode=search&toolkits=", "/mcp?mode=code&toolkits="] {
            // The selection excludes the server's own tools.
            let ids: Vec<_> = (0..deployed).map(|id| format!("service-{id}")).collect();
            let endpoint: &'static str = Box::leak(format!("{endpoint}{}", ids.join(",")).into_boxed_str());
            let tools = kitbag.as_user("ana").at(endpoint).all_tools().await;
            bytes.push(json!(tools).to_string().len());
        }
        println!("| {wanted} | {} | {} | {} |", bytes[0], bytes[1], bytes[2]);
        assert!(bytes[1] < 2_500 && bytes[2] < 5_000, "{bytes:?}");
    }
}
