import Main.Write
/-!
# `serq-exec`: the executable semantics on programs read as JSON

One line of input, one line of output. A line is an IR program of version 13, or an object with the
fields `program` (such a program), `horizon` (instead of the program's) and `name` (repeated in the
answer). The answer is the step trace, or `{"outside": reason}` for a program outside the fragment, or
`{"error": reason}` for a line that is not JSON.
-/

open Lean (Json)

/-- The answer to one line. -/
def answer (line : String) : Json :=
  match Json.parse line with
  | .error e => Json.mkObj [("error", .str e)]
  | .ok j =>
    let (program, horizon) := match j.getObjVal? "program" with
      | .ok p => (p, Main.field? j "horizon")
      | .error _ => (j, none)
    let named (fields : Json) : Json := match Main.field? j "name" with
      | some n => fields.setObjVal! "name" n
      | none => fields
    match Main.readInput program horizon with
    | .error e => named (Json.mkObj [("outside", .str e)])
    | .ok input =>
      let (m, iters) := Serq.runTrace input.deployment input.workload input.program input.horizon
      named (Main.traceJson input m iters)

def main : IO UInt32 := do
  let stdin ← IO.getStdin
  let stdout ← IO.getStdout
  repeat
    let line ← stdin.getLine
    if line.isEmpty then break
    if line.trimAscii.isEmpty then continue
    stdout.putStrLn (answer line).compress
    stdout.flush
  return 0
