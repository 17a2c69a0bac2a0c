use quiclab_sim::*;
use quiclab_core::scenario::*;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let sets: Vec<(String,String)> = std::env::args().skip(2).map(|s| { let (a,b)=s.split_once('=').unwrap(); (a.into(), b.into())}).collect();
    let text = std::fs::read_to_string(&path).unwrap();
    let scenario = Document::from_toml(&text, &path, &sets).and_then(|d| d.load(&|c| quiclab_stacks::validate(c).map_err(|e| StackProblem{field:"x".into(),value:"".into(),allowed:e.to_string()}))).unwrap_or_else(|e| panic!("{e}")).resolved();
    let options = RunOptions { build: BuildOptions { stacks: &NativeStacks, base_dir: std::path::Path::new(&path).parent().unwrap(), transport_observer: &|_| None }, packet_observers: &|_| Vec::new(), interrupted: &|| false, records: None };
    let t = std::time::Instant::now();
    let out = run(&scenario, 7, &options).unwrap();
    println!("{:?}", t.elapsed());
    if std::env::var("SERIES").is_ok() { let s=&out.series; for i in 0..s.value.len() { println!("S {} {} {} {}", s.time_ns[i], out.element_names[s.element[i] as usize], s.metric_names[s.metric[i] as usize], s.value[i]); } }
    println!("{}", serde_json::to_string_pretty(&(&out.result.digest, &out.result.run, &out.result.flows, &out.result.elements, &out.result.warnings)).unwrap());
}
