import serq

print("rate   hit  recomputed   TTFT  response  queue")
for rate in (0.1, 0.15, 0.2):
    program = serq.compile("docs/tutorial/6-cliff.sq", horizon=600, warmup=100, sets={"rate": rate})
    report = serq.run(program)
    print(
        f"{rate:4.2f}  {report.observe('hit').mean:4.2f}"
        f"  {report.observe('recomputed').mean:10.2f}"
        f"  {report.client['ttft'].mean:5.2f}"
        f"  {report.client['response'].mean:8.2f}"
        f"  {report.pool('reqs').mean_queue:5.2f}"
    )
