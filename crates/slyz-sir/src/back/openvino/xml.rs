//! Layers as text: version 11 of OpenVINO's IR.

use super::layers::{Body, Layer, Net, Shape};
use crate::types::Ty;
use std::fmt::Write;

/// The text of a whole model.
pub(super) fn write(name: &str, net: &Net) -> String {
    let mut out = String::from("<?xml version=\"1.0\"?>\n");
    let _ = writeln!(out, "<net name=\"{}\" version=\"11\">", escaped(name));
    write_net(&mut out, net, 1);
    out.push_str("\t<rt_info />\n</net>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn line(out: &mut String, depth: usize, text: &str) {
    out.extend(std::iter::repeat_n('\t', depth));
    out.push_str(text);
    out.push('\n');
}

fn write_net(out: &mut String, net: &Net, depth: usize) {
    line(out, depth, "<layers>");
    for (id, layer) in net.layers.iter().enumerate() {
        write_layer(out, id, layer, depth + 1);
    }
    line(out, depth, "</layers>");
    line(out, depth, "<edges>");
    for [from, port, to, into] in &net.edges {
        let edge = format!("<edge from-layer=\"{from}\" from-port=\"{port}\" to-layer=\"{to}\" to-port=\"{into}\" />");
        line(out, depth + 1, &edge);
    }
    line(out, depth, "</edges>");
}

fn write_layer(out: &mut String, id: usize, layer: &Layer, depth: usize) {
    let Layer { name, kind, opset, .. } = layer;
    let name = escaped(name);
    line(out, depth, &format!("<layer id=\"{id}\" name=\"{name}\" type=\"{kind}\" version=\"opset{opset}\">"));
    if !layer.data.is_empty() {
        let all: String = layer.data.iter().map(|(key, value)| format!(" {key}=\"{}\"", escaped(value))).collect();
        line(out, depth + 1, &format!("<data{all} />"));
    }
    if let Some(body) = &layer.body {
        write_maps(out, body, depth + 1);
    }
    write_ports(out, "input", &layer.inputs, 0, &[], depth + 1);
    write_ports(out, "output", &layer.outputs, layer.inputs.len(), &layer.names, depth + 1);
    if let Some(body) = &layer.body {
        line(out, depth + 1, "<body>");
        write_net(out, &body.net, depth + 2);
        line(out, depth + 2, "<rt_info />");
        line(out, depth + 1, "</body>");
    }
    line(out, depth, "</layer>");
}

fn write_ports(out: &mut String, tag: &str, ports: &[Shape], first: usize, names: &[Vec<String>], depth: usize) {
    if ports.is_empty() {
        return;
    }
    line(out, depth, &format!("<{tag}>"));
    for (k, shape) in ports.iter().enumerate() {
        let id = first + k;
        let names = names.get(k).filter(|names| !names.is_empty()).map(|names| names.join(","));
        let names = names.map_or_else(String::new, |names| format!(" names=\"{}\"", escaped(&names)));
        let precision = precision(shape.ty);
        if shape.dims.is_empty() {
            line(out, depth + 1, &format!("<port id=\"{id}\" precision=\"{precision}\"{names} />"));
            continue;
        }
        line(out, depth + 1, &format!("<port id=\"{id}\" precision=\"{precision}\"{names}>"));
        for dim in &shape.dims {
            line(out, depth + 2, &format!("<dim>{dim}</dim>"));
        }
        line(out, depth + 1, "</port>");
    }
    line(out, depth, &format!("</{tag}>"));
}

/// How what goes into a loop, and out of it, is connected with its body.
fn write_maps(out: &mut String, body: &Body, depth: usize) {
    line(out, depth, "<port_map>");
    let map = |tag: &str, port: i64, layer: usize, more: &str| {
        format!("<{tag} external_port_id=\"{port}\" internal_layer_id=\"{layer}\"{more} />")
    };
    for &(port, layer) in &body.inputs {
        line(out, depth + 1, &map("input", port as i64, layer, ""));
    }
    for &(port, layer) in &body.outputs {
        line(out, depth + 1, &map("output", port as i64, layer, ""));
    }
    line(out, depth + 1, &map("output", -1, body.condition, " purpose=\"execution_condition\""));
    line(out, depth, "</port_map>");
    line(out, depth, "<back_edges>");
    for (from, to) in &body.back {
        line(out, depth + 1, &format!("<edge from-layer=\"{from}\" to-layer=\"{to}\" />"));
    }
    line(out, depth, "</back_edges>");
}

fn precision(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "BOOL",
        Ty::I8 => "I8",
        Ty::I16 => "I16",
        Ty::I32 => "I32",
        Ty::I64 => "I64",
        Ty::U8 => "U8",
        Ty::U16 => "U16",
        Ty::U32 => "U32",
        Ty::U64 => "U64",
        Ty::F16 => "FP16",
        Ty::BF16 => "BF16",
        Ty::F32 => "FP32",
        Ty::F64 => "FP64",
    }
}
