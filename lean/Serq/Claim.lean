import Serq.Exec
/-!
# Claims: propositions about every path of a program

A path of a program on a workload is the start machine and the machines after each event. A claim
speaks of a *family* of workloads. Machines whose fuel ran out are excluded from every form, so that
nothing is concluded from a cut recursion; `NoFuelOut` states that there are none.
-/

namespace Serq

/-- The machines of the path of program `P` on workload `w`. -/
inductive Reach (D : Deployment) (w : Workload) (P : Block) : Machine → Prop
  | start : Reach D w P (start D w P)
  | step {m : Machine} : Reach D w P m → Reach D w P (step D m)

/-- `every iteration of S (e)`: on every path of the family, `q` holds of the record of every
iteration. -/
def EveryIteration (D : Deployment) (P : Block) (W : Workload → Prop) (q : IterRec → Prop) : Prop :=
  ∀ w, W w → ∀ m, Reach D w P m → m.outOfFuel = false → m.clock.iterEnd ≠ none → q m.clock.last

/-- `some iteration of S (e)`: on some path of the family, `q` holds of the record of some
iteration. -/
def SomeIteration (D : Deployment) (P : Block) (W : Workload → Prop) (q : IterRec → Prop) : Prop :=
  ∃ w, W w ∧ ∃ m, Reach D w P m ∧ m.outOfFuel = false ∧ m.clock.iterEnd ≠ none ∧ q m.clock.last

/-- `at end (e)`: on every path of the family, `q` holds of every machine at which all sessions have
ended. -/
def AtEnd (D : Deployment) (P : Block) (W : Workload → Prop) (q : Machine → Prop) : Prop :=
  ∀ w, W w → ∀ m, Reach D w P m → m.outOfFuel = false →
    (∀ i, i < m.sess.size → (m.at_ i).status = .ended) → q m

/-- On no path of the family does the fuel run out. -/
def NoFuelOut (D : Deployment) (P : Block) (W : Workload → Prop) : Prop :=
  ∀ w, W w → ∀ m, Reach D w P m → m.outOfFuel = false

/-- What a session's presets put into an attribute slot; 0 when they do not set it. -/
def preset (a : List (Nat × Nat)) (slot : Nat) : Nat := Arr.at! (assign a #[]) slot

/-- What session `i` of a workload brings in an attribute slot. -/
def Workload.attr (w : Workload) (i slot : Nat) : Nat := preset (Lst.nth [] w.init i) slot

/-! ## Aggregates of observations -/

/-- The values observed under a name, latest first. -/
def valuesOf (name : Nat) : List Obs → List Nat
  | [] => []
  | o :: os => if o.name = name then o.value :: valuesOf name os else valuesOf name os

/-- The values observed under a name, latest first. -/
def values (m : Machine) (name : Nat) : List Nat := valuesOf name m.obs

/-- The sum of some values. -/
def sumOf : List Nat → Nat
  | [] => 0
  | v :: vs => v + sumOf vs

/-- The largest of some values, 0 of none. -/
def maxOf : List Nat → Nat
  | [] => 0
  | v :: vs => if v ≤ maxOf vs then maxOf vs else v

/-- The smallest of some values, 0 of none. -/
def minOf : List Nat → Nat
  | [] => 0
  | [v] => v
  | v :: vs => if v ≤ minOf vs then v else minOf vs

/-- A value before all values of a list in descending order that are not greater. -/
def insertDown (v : Nat) : List Nat → List Nat
  | [] => [v]
  | u :: us => if u ≤ v then v :: u :: us else u :: insertDown v us

/-- The values in descending order. -/
def sortDown : List Nat → List Nat
  | [] => []
  | v :: vs => insertDown v (sortDown vs)

/-- The sum of the sums of all suffixes. -/
def suffixTotal : List Nat → Nat
  | [] => 0
  | v :: vs => sumOf (v :: vs) + suffixTotal vs

/-- The sum over `k` of the `k` smallest values: the least total completion time of jobs of these
sizes served one at a time. -/
def prefixTotalOf (l : List Nat) : Nat := suffixTotal (sortDown l)

/-- `total(o)` -/
def total (m : Machine) (name : Nat) : Nat := sumOf (values m name)

/-- `count(o)` -/
def count (m : Machine) (name : Nat) : Nat := (values m name).length

/-- `largest(o)` -/
def largest (m : Machine) (name : Nat) : Nat := maxOf (values m name)

/-- `smallest(o)` -/
def smallest (m : Machine) (name : Nat) : Nat := minOf (values m name)

/-- `prefix_total(o)` -/
def prefixTotal (m : Machine) (name : Nat) : Nat := prefixTotalOf (values m name)

/-- The sums of the one, two and three smallest of 3, 1, 2 are 1, 3 and 6: ten together. -/
theorem prefixTotalOf_example : prefixTotalOf [3, 1, 2] = 10 := by decide

end Serq
