"""Writes a PCP archive from JSON on standard input; run by the Python that has PCP's bindings.

{"path": …, "host": …, "metrics": {name: [type, semantics, unit, instance domain or null]},
 "instances": {domain: {name: number}},
 "records": [[seconds, {metric: value or {instance: value}}] or "mark"]}
"""

import json
import sys

import cpmapi as c
from pcp import pmi

job = json.load(sys.stdin)
TYPES = {"u32": c.PM_TYPE_U32, "u64": c.PM_TYPE_U64, "double": c.PM_TYPE_DOUBLE, "string": c.PM_TYPE_STRING}
SEMANTICS = {"counter": c.PM_SEM_COUNTER, "instant": c.PM_SEM_INSTANT, "discrete": c.PM_SEM_DISCRETE}
log = pmi.pmiLogImport(job["path"])
UNITS = {
    "ms": log.pmiUnits(0, 1, 0, 0, c.PM_TIME_MSEC, 0),
    "s": log.pmiUnits(0, 1, 0, 0, c.PM_TIME_SEC, 0),
    "KiB": log.pmiUnits(1, 0, 0, c.PM_SPACE_KBYTE, 0, 0),
    "byte": log.pmiUnits(1, 0, 0, c.PM_SPACE_BYTE, 0, 0),
    "count": log.pmiUnits(0, 0, 1, 0, 0, c.PM_COUNT_ONE),
    "none": log.pmiUnits(0, 0, 0, 0, 0, 0),
}
log.pmiSetHostname(job["host"])
log.pmiSetTimezone("UTC")
domains = {name: log.pmiInDom(60, k + 1) for k, name in enumerate(job["instances"])}
for k, (name, (kind, semantics, unit, domain)) in enumerate(job["metrics"].items()):
    indom = domains[domain] if domain else c.PM_INDOM_NULL
    log.pmiAddMetric(name, log.pmiID(60, 1, k), TYPES[kind], indom, SEMANTICS[semantics], UNITS[unit])
for name, instances in job["instances"].items():
    for instance, number in instances.items():
        log.pmiAddInstance(domains[name], instance, number)
for record in job["records"]:
    if record == "mark":
        log.pmiPutMark()
        continue
    seconds, values = record
    for metric, value in values.items():
        for instance, number in (value if isinstance(value, dict) else {None: value}).items():
            log.pmiPutValue(metric, instance, str(number))
    log.pmiWrite(int(seconds), round(seconds % 1 * 1e6))
