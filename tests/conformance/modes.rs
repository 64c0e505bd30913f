//! Functions whose loop or branch is recorded, and the same ones with it evaluated: all must have the same results.

/// A function whose `while` is recorded, evaluated, or evaluated on ever fewer lanes; or whose `if` is recorded, or
/// both of whose arms run.
macro_rules! modes {
    ($(fn $name:ident $arguments:tt $(-> $result:ty)? { { $($before:tt)* } while ($($condition:tt)*) { $($body:tt)* }
        { $($after:tt)* } })*) => {
        $($crate::modes::modes!(@module $name $arguments [$($result)?] { $($before)* }
            { while $($condition)* { $($body)* } } { $($after)* }
            symbolic [#[symbolic]] evaluated [#[evaluated]] compressed [#[evaluated] #[compress]]);)*
    };
    ($(fn $name:ident $arguments:tt $(-> $result:ty)? { { $($before:tt)* }
        if ($($condition:tt)*) $then:block else $otherwise:block { $($after:tt)* } })*) => {
        $($crate::modes::modes!(@module $name $arguments [$($result)?] { $($before)* }
            { if $($condition)* $then else $otherwise } { $($after)* }
            symbolic [#[symbolic]] evaluated [#[evaluated]]);)*
    };
    (@module $name:ident $arguments:tt $result:tt $before:tt $statement:tt $after:tt $($mode:ident $attributes:tt)*) =>
        {
        mod $name {
            #[allow(unused_imports, reason = "not every function needs all of them")]
            use super::*;

            $($crate::modes::modes!(@function $mode $attributes $arguments $result $before $statement $after);)*
        }
    };
    (@function $mode:ident [$($attribute:tt)*] $arguments:tt [$($result:ty)?] { $($before:tt)* } { $($statement:tt)* }
        { $($after:tt)* }) => {
        #[jit]
        pub(super) fn $mode $arguments $(-> $result)? {
            $($before)*
            $($attribute)*
            $($statement)*
            $($after)*
        }
    };
}

/// Runs a test for each of some modes of a function, on each device.
macro_rules! in_each_mode {
    ($name:ident [$($mode:ident)*], |$run:ident| $test:block) => {
        $crate::on_each_device(|| {
            $({
                let $run = $name::$mode;
                $test
            })*
        })
    };
}

pub(crate) use {in_each_mode, modes};
