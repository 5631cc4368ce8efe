"""What the client and the server may set, read and say."""

from __future__ import annotations

import ir_programs as w
from ir_programs import (
    A_,
    CACHED,
    COMPUTED,
    KV,
    KW,
    NEW,
    ONE,
    OWN,
    SERIAL,
    TWO,
    A,
    Client,
    E,
    G,
    K,
    N,
    Q,
    attr,
    binary,
    branch,
    choose,
    cost,
    document,
    drop,
    hold,
    of_pool,
    of_stage,
    put,
    ref,
    run,
    see,
    take,
    while_,
)

from ir_cases import (
    COST,
    PLAIN,
    RUN,
    S1,
    SET_K,
    client,
    edited,
    no,
    yes,
)

# --- who owns what --------------------------------------------------------------------------------


C1 = "blocks[2][2]"
no("a server that sets a size", document([put(N, ONE)]), "size-owner", S1)
no("a server that sets a built-in size", document([put(NEW, ONE)]), "size-owner", S1)
no("a server that chooses a size", document([choose(N, TWO, ONE)]), "size-owner", S1)
no("a client that sets a value", client(put(A_, ONE)), "size-owner", C1)
no("a client that sets cached", client(put(CACHED, ONE)), "size-owner", C1)
no("a client that chooses a value", client(choose(A_, TWO, ONE)), "size-owner", C1)
no("an init that sets a value", document([RUN], init=[put(A_, ONE)]), "size-owner", "blocks[0][0]")
no("a client with a server's cost", client(see(COST)), "workload-cost", f"{C1}.Observe[1]")
no(
    "a client with a cost of a server's member",
    client(run(Q), server=(run(Q, index=ONE),)),
    "workload-cost",
    f"{C1}.Run.work",
)
no(
    "a client that reads a server's cost",
    client(see(attr(K)), server=(SET_K, RUN)),
    "workload-cost",
    "blocks[2][3].Observe[1]",
)
no(
    "a client that holds what the server holds",
    client(hold([take(KW)], []), server=(hold([take(KW)], [RUN]),)),
    "workload-cost",
    f"{C1}.Hold.pools[0][1]",
)
no(
    "a client that holds what the server's run grows",
    document(
        session=[Client("Turn"), Client(hold([take(KV)], [run(E, growing=ref(KV))])), Client("End")]
    ),
    "workload-cost",
    "blocks[2][1].Hold.pools[0][1]",
)
no(
    "an init with a cost",
    document([RUN], init=[see(cost(of_pool(OWN), ONE))]),
    "workload-cost",
    "blocks[0][0].Observe[1]",
)
no(
    "a turn that compares costs",
    document([RUN], turn=[see(binary("Lt", COST, COST))]),
    "workload-cost",
    "blocks[1][0].Observe[1].Binary[1]",
)
no(
    "a built-in size as a value",
    edited(PLAIN, "attr_types", SERIAL, to="Value"),
    "builtin-type",
    "attr_types[1]",
)
no(
    "cached as a size",
    edited(PLAIN, "attr_types", CACHED, to="Size"),
    "builtin-type",
    "attr_types[0]",
)
no("a hold in init", document([RUN], init=[drop(KW)]), "workload-statement", "blocks[0][0]")
no(
    "a choice in turn",
    document([RUN], turn=[choose(N, TWO, ONE)]),
    "workload-statement",
    "blocks[1][0]",
)
no(
    "an init of the server",
    edited(document([RUN], init=[see(ONE)]), "sides", 0, 0, to="Server"),
    "ir-shape",
    "blocks[0][0]",
)
no(
    "a turn of the server",
    edited(PLAIN, "sides", 2, 0, to="Server"),
    "turn-in-server",
    "blocks[2][0]",
)
no(
    "a client inside the server",
    document([branch(ONE, [Client(put(N, ONE))])]),
    "workload-in-server",
    "blocks[3][0]",
)
yes("a server that sets cached", document([put(CACHED, ONE)]))
yes("a server that sets computed", document([put(COMPUTED, ONE)]))
yes("a client that sets sizes", client(put(N, ONE), put(NEW, TWO), choose(G, TWO, ONE)))
yes("a client with a stage of its own", client(run(w.TOOL)))
yes("a client with a pool of its own", client(hold([take(OWN)], [])))
yes("a client that drops", client(drop(KW)))
yes("a client that reads a server's value", client(put(N, attr(A_)), server=(put(A_, ONE), RUN)))
yes("a client with a cost the server does not use", client(see(cost(of_stage(A), ONE))))
yes(
    "a server inside the client",
    document(session=[Client(while_(attr(N), [Client("Turn"), RUN])), Client("End")]),
)
yes("a server that ends", document([branch(attr(A_), ["End"]), RUN]))
