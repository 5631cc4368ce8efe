import Lean
/-!
# The audit: what every theorem of the library rests on

`lean --run lean/Serq/Audit.lean [MODULE …]` (without modules: `Serq`) visits every constant of the
modules whose name starts with `Serq` and prints a JSON object for each theorem that is written in
them: its name, module, line, docstring, and axioms. The axioms are found by walking through all
constants that the theorem's statement and proof use. Theorems of the core library whose proofs a
toolchain does not carry load as axioms of core modules; they are not the library's and are left out,
except the three that mathematics in Lean rests on and those that stand for compiled evaluation.

A constant that is `unsafe`, `partial`, `implemented_by` or `extern` is refused too: what runs would not
be what was proved about.

Exit status 1 when something is refused. A last line counts the constants visited.
-/

open Lean

namespace Audit

/-- The axioms that mathematics in Lean rests on. -/
def allowed : List Name := [``propext, ``Classical.choice, ``Quot.sound]

/-- Axioms of core that are reported although they are core's. -/
def reported : List Name :=
  allowed ++ [``sorryAx, ``Lean.ofReduceBool, ``Lean.ofReduceNat, ``Lean.trustCompiler]

/-- The module in which a constant stands. -/
def moduleOf (env : Environment) (n : Name) : Option Name :=
  (env.getModuleIdxFor? n).map fun i => env.header.moduleNames[i.toNat]!

/-- Whether a module is of the core library. -/
def isCore (m : Name) : Bool := [`Init, `Std, `Lean].contains m.getRoot

/-- The constants that a constant's type and value use. -/
def uses (c : ConstantInfo) : Array Name :=
  let value := match c with
    | .defnInfo v => v.value.getUsedConstants
    | .thmInfo v => v.value.getUsedConstants
    | .opaqueInfo v => v.value.getUsedConstants
    | _ => #[]
  let parts := match c with
    | .inductInfo v => v.ctors.toArray
    | _ => #[]
  c.type.getUsedConstants ++ value ++ parts

/-- The axioms below every constant seen so far. -/
abbrev Memo := Std.HashMap Name (List Name)

/-- Two lists of names as one, without doubles. -/
def union (a b : List Name) : List Name := b.foldl (fun a n => if a.contains n then a else n :: a) a

/-- Visits `n` and everything below it; what is being visited counts as without axioms, which only
cuts the cycles of an inductive type and its constructors. -/
partial def visit (env : Environment) (n : Name) : StateM Memo (List Name) := do
  if let some l := (← get)[n]? then return l
  modify (·.insert n [])
  match env.find? n with
  | none => return []
  | some c =>
    let mut l : List Name := []
    if let .axiomInfo _ := c then
      let core := match moduleOf env n with
        | some m => isCore m
        | none => false
      if !core || reported.contains n then l := [n]
    for u in uses c do
      l := union l (← visit env u)
    modify (·.insert n l)
    return l

/-- What a constant must not be: code that the kernel does not see. (`_unsafe_rec` is how the compiler
names the code of a definition by recursion.) -/
def unseen (env : Environment) (n : Name) (c : ConstantInfo) : Option String :=
  if (n matches .str _ "_unsafe_rec") then none
  else if c.isUnsafe then some "unsafe"
  else if c.isPartial then some "partial"
  else if (Compiler.implementedByAttr.getParam? env n).isSome then some "implemented_by"
  else if isExtern env n then some "extern"
  else none

/-- Whether a theorem is written in the source, not generated beside a definition or a field of a
structure. -/
def written (env : Environment) (n : Name) : Bool :=
  !n.isInternalDetail && !env.isProjectionFn n && (declRangeExt.find? (level := .server) env n).isSome

/-- Prints what every theorem of some modules rests on. -/
def main (args : List String) : IO UInt32 := do
  let mods := if args.isEmpty then [`Serq] else args.map String.toName
  let env ← importModules (mods.toArray.map fun m => { module := m }) {}
  let mut memo : Memo := {}
  let mut visited := 0
  let mut bad := 0
  let names := env.constants.fold (init := (#[] : Array Name)) fun acc n _ =>
    match moduleOf env n with
    | some m => if m.getRoot == `Serq then acc.push n else acc
    | none => acc
  for n in names.qsort Name.lt do
    let some c := env.find? n | continue
    let (axs, memo') := (visit env n).run memo
    memo := memo'
    visited := visited + 1
    let hidden := unseen env n c
    let ok := axs.all allowed.contains && hidden.isNone
    let theorem? := match c with
      | .thmInfo _ => true
      | _ => false
    if !ok then bad := bad + 1
    if (theorem? && written env n) || !ok then
      let doc ← findDocString? env n
      let line := (declRangeExt.find? (level := .server) env n).map fun r => r.range.pos.line
      IO.println (Json.mkObj [
        ("theorem", toJson n.toString),
        ("kind", toJson (if theorem? then "theorem" else "constant")),
        ("module", toJson ((moduleOf env n).getD .anonymous).toString),
        ("line", toJson line),
        ("doc", toJson (doc.map (·.trimAscii.toString))),
        ("axioms", toJson (axs.map (·.toString)).mergeSort),
        ("unseen", toJson hidden),
        ("ok", toJson ok)]).compress
  IO.println (Json.mkObj [("visited", toJson visited), ("refused", toJson bad)]).compress
  return if bad == 0 then 0 else 1

end Audit

def main (args : List String) : IO UInt32 := Audit.main args
