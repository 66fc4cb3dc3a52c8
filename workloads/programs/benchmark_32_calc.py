"""A small interactive program: reads numbers, answers each with a table, until an empty line."""

total = 0.0
count = 0
print("mean and spread of what is typed; e ends")
while True:
    line = input("data? ").strip()
    if line == "e":
        break
    try:
        value = float(line)
    except ValueError:
        print("not a number:", line)
        continue
    count += 1
    total += value
    chain = int(value) * 7919 + 1
    steps = 0
    while chain != 1:
        chain = chain // 2 if chain % 2 == 0 else 3 * chain + 1
        steps += 1
    work = sum(i * i % 97 for i in range(60000))
    print(f"n {count:4d}   sum {total:10.2f}   mean {total / count:9.3f}   chain {steps:4d}  check {work:8d}")
